/** Rows of their own instead of the whole input: file, row, the ids, raw_reward, advantage, and what else is wanted. */

import type { SideColumns } from '../samples/assembler.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { KEYED_BY_INDEX } from '../samples/columns.ts';
import { NO_ID } from '../samples/ids.ts';
import { ExtraMembers } from './jsonl/extra-members.ts';
import { LineBuffer } from './jsonl/line-buffer.ts';
import { spellNumber } from './jsonl/suffix.ts';
import type { OutputFields } from './layouts/fields.ts';
import type { Output } from './output.ts';
import type { InputRows } from './read-input.ts';
import type { RowResults } from './write-input-rows.ts';

export interface SidecarRows {
  /** As the `file` field names it. */
  readonly file: string;
  readonly rows: InputRows;
  readonly columns: SampleColumns;
  readonly side: SideColumns;
  /** Of the whole batch. */
  readonly results: RowResults;
  readonly fields: OutputFields;
}

/** Fields beside the two whose names can be chosen. */
export const SIDECAR_NAMES: readonly string[] = ['file', 'row', 'group_index', 'rollout_id', 'index'];

const FLUSH_BYTES = 1 << 20;

/** Ids leave digit for digit; a row has those that it had. */
export async function writeSidecarLines(sidecar: SidecarRows, output: Output): Promise<void> {
  const { file, rows, columns, side, results, fields } = sidecar;
  const { groupCodes, rolloutCodes, flags, groupIds, rolloutIds } = columns;
  const { keep } = results;
  const extras = new ExtraMembers(results.extras);
  const lines = new LineBuffer();
  const head = `{"file": ${JSON.stringify(file)}, "row": `;
  const tail = [`, ${JSON.stringify(fields.rawReward)}: `, `, ${JSON.stringify(fields.advantage)}: `];
  for (let i = 0; i < rows.rowCount; i++) {
    const row = rows.firstRow + i;
    if (keep !== null && keep[row] === 0) continue;
    let text = `${head}${i + 1}`;
    if (groupCodes && groupCodes[row] !== NO_ID) text += `, "group_index": ${groupIds.describe(groupCodes[row])}`;
    const keyedByIndex = flags !== null && (flags[row] & KEYED_BY_INDEX) !== 0;
    if (rolloutCodes && rolloutCodes[row] !== NO_ID && !keyedByIndex)
      text += `, "rollout_id": ${rolloutIds.describe(rolloutCodes[row])}`;
    if (side.indexCodes && side.indexCodes[row] !== NO_ID)
      text += `, "index": ${side.indexIds.describe(side.indexCodes[row])}`;
    text += `${tail[0]}${spellNumber(results.rawRewards[row])}${tail[1]}${spellNumber(results.advantages[row])}`;
    lines.appendText(`${text}${extras.textOf(row)}}\n`);
    if (lines.length >= FLUSH_BYTES) {
      await output.write(lines.bytes);
      lines.clear();
      if (output.closed) return;
    }
  }
  if (lines.length > 0) await output.write(lines.bytes);
}
