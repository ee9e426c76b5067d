/** Reads files into a batch, in this thread, as the commands do. */
import { Progress } from '../../src/commands/progress.ts';
import { type ReadBatch, readBatch } from '../../src/commands/read-batch.ts';
import { type Input, openInput } from '../../src/io/input.ts';
import { type LayoutRequest, resolveLayout } from '../../src/io/layouts/resolve-layout.ts';
import { TaskPool } from '../../src/io/task-pool.ts';
import { KEYED_BY_INDEX } from '../../src/samples/columns.ts';
import { NO_ID } from '../../src/samples/ids.ts';

export interface JoinRequest {
  readonly path: string;
  readonly on: string;
  readonly preset?: string;
}

export async function readFiles(
  paths: readonly string[],
  request: LayoutRequest = {},
  join?: JoinRequest,
): Promise<ReadBatch> {
  const layout = resolveLayout({ ...request, ...(join && { key: join.on }) });
  const settings = {
    layout,
    maxLine: undefined,
    pool: new TaskPool(1),
    progress: new Progress(undefined),
    join: join && { path: join.path, layout: resolveLayout({ preset: join.preset ?? 'miles', key: join.on }) },
  };
  const inputs: Input[] = [];
  try {
    for (const path of paths) inputs.push(await openInput(path, settings));
    return await readBatch(inputs, settings);
  } finally {
    for (const input of inputs) await input.close();
  }
}

/** Ids and values of the rows, as messages spell them. */
export function rowsOfBatch({ batch: { columns } }: ReadBatch) {
  const { groupCodes, groupIds, rolloutCodes, rolloutIds, rewards, fixedTokens, flags } = columns;
  return Array.from({ length: columns.rowCount }, (_, row) => {
    const code = rolloutCodes?.[row] ?? NO_ID;
    const isIndex = flags !== null && (flags[row] & KEYED_BY_INDEX) !== 0;
    return {
      group: groupIds.describe(groupCodes?.[row] ?? NO_ID),
      rollout: `${isIndex ? 'index ' : ''}${rolloutIds.describe(code)}`,
      reward: rewards[row],
      tokens: fixedTokens?.[row] ?? null,
    };
  });
}
