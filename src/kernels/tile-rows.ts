/** The rows of a tile as kernels get them: where they can reach the whole batch, as they lie; else brought into order here. */
import type { SiblingPolicy } from '../estimators/policies.ts';
import type { Plan } from '../plan/plan.ts';
import type { Tile } from '../plan/tiles.ts';
import type { SampleColumns } from '../samples/columns.ts';
import { gatherDoubles, gatherWords } from '../samples/gather.ts';
import type { Executor, KernelArray, Workspace } from './executor.ts';
import { choosesByReward, type RolloutRows, type RowOrder } from './stages/select-representatives.ts';

/** Trainable tokens per row where they are known and wanted; on the host where something there needs them. */
export interface RowTokens {
  readonly array: KernelArray<'u32'> | null;
  readonly host: Uint32Array | null;
}

export class TileRows {
  readonly #executor: Executor;
  readonly #columns: SampleColumns;
  readonly #plan: Plan;
  /** Arrays of the whole batch. */
  readonly #shared: Workspace;
  readonly #whole: boolean;
  /** Columns of the host that kernels can reach as a whole. */
  readonly #sharedInputs = new Map<Float64Array, KernelArray<'f64'>>();

  constructor(executor: Executor, columns: SampleColumns, plan: Plan, shared: Workspace, whole: boolean) {
    this.#executor = executor;
    this.#columns = columns;
    this.#plan = plan;
    this.#shared = shared;
    this.#whole = whole;
  }

  /** What the rows of a rollout are compared by; in a tile it is brought into order here. */
  rowsOf(workspace: Workspace, tile: Tile, tokens: RowTokens, policy: SiblingPolicy): RolloutRows {
    const { rewards } = this.#columns;
    if (this.#whole)
      return {
        ...this.orderOf(workspace, tile),
        tokens: tokens.array,
        rewards: this.columnOf(workspace, tile, rewards),
      };
    return {
      rowsInOrder: 1,
      rowsByRollout: null,
      firstPosition: tile.firstPosition,
      tokens: tokens.host && workspace.input('u32', this.#packed(tile, tokens.host, gatherWords)),
      rewards: choosesByReward(policy) ? workspace.input('f64', this.#packed(tile, rewards, gatherDoubles)) : null,
    };
  }

  /** Rows as they lie where kernels can reach all of them; else the tile's rows alone, in order. */
  orderOf(workspace: Workspace, { firstPosition, positionEnd }: Tile): RowOrder {
    const order = this.#plan.rowsByRollout?.subarray(firstPosition, positionEnd) ?? null;
    if (!this.#reachesAll()) return { rowsInOrder: 1, rowsByRollout: null, firstPosition };
    return { rowsInOrder: order ? 0 : 1, rowsByRollout: order && workspace.input('u32', order), firstPosition };
  }

  /** Whether kernels find the rows of the whole batch, wherever a rollout's rows are. */
  #reachesAll(): boolean {
    return this.#whole || (this.#plan.rowsByRollout !== null && this.#executor.hasTables);
  }

  /** A column over the rows that orderOf gives. */
  columnOf(workspace: Workspace, tile: Tile, column: Float64Array): KernelArray<'f64'> {
    if (!this.#reachesAll()) return workspace.input('f64', this.#packed(tile, column, gatherDoubles));
    let array = this.#sharedInputs.get(column);
    if (!array) {
      array = this.#shared.input('f64', column);
      this.#sharedInputs.set(column, array);
    }
    return array;
  }

  /** The rows of a tile in order. */
  #packed<T extends Float64Array | Uint32Array>(
    { firstPosition, positionEnd }: Tile,
    rows: T,
    gather: (from: T, order: Uint32Array) => T,
  ): T {
    const order = this.#plan.rowsByRollout?.subarray(firstPosition, positionEnd);
    return order ? gather(rows, order) : (rows.subarray(firstPosition, positionEnd) as T);
  }
}
