/** Prompt groups that are stated by their sizes: so many rows in turn each. */

/** Rows that groups of these sizes have together. */
export function rowsOfSizes(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}
