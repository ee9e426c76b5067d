/** Members that follow raw_reward and advantage, `, "group": 1, "mean": 0.5`, as text. */
import type { ExtraColumn } from '../extra-columns.ts';
import { SpelledNumbers } from './suffix.ts';

/** Spells the members of row after row; the names are the same for all. */
export class ExtraMembers {
  readonly #spellers: readonly ((row: number) => string)[];

  constructor(columns: readonly ExtraColumn[]) {
    this.#spellers = columns.map((column) => {
      const prefix = `, ${JSON.stringify(column.name)}: `;
      const spell = spellerOf(column);
      return (row) => prefix + spell(row);
    });
  }

  textOf(row: number): string {
    let text = '';
    for (let i = 0; i < this.#spellers.length; i++) text += this.#spellers[i](row);
    return text;
  }
}

function spellerOf({ values }: ExtraColumn): (row: number) => string {
  const { kind, present } = values;
  if (kind === 'double') {
    const numbers = new SpelledNumbers();
    return (row) => numbers.spell(values.values[row]);
  }
  const spell =
    kind === 'bool' ? (row: number) => String(values.values[row] === 1) : (row: number) => String(values.values[row]);
  return present === null ? spell : (row) => (present[row] === 0 ? 'null' : spell(row));
}
