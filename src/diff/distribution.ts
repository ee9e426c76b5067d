/** What a list of differences looks like in three numbers. */

export interface Distribution {
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
}

/**
 * Of all parts together; 0 where there is nothing. Quantiles between two values are interpolated, as numpy does.
 * A part that is alone is brought into another order.
 */
export function distributionOf(parts: readonly Float64Array[]): Distribution {
  const values = parts.length === 1 ? parts[0] : joined(parts);
  const { length } = values;
  if (length === 0) return { mean: 0, median: 0, p90: 0 };
  let sum = 0;
  for (let i = 0; i < length; i++) sum += values[i];
  const middle = Math.floor((length - 1) * 0.5);
  const median = quantile(values, 0.5, 0);
  return { mean: sum / length, median, p90: quantile(values, 0.9, middle) };
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const values = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    values.set(part, at);
    at += part.length;
  }
  return values;
}

/** @param from place before which no value is greater than any after it */
function quantile(values: Float64Array, share: number, from: number): number {
  const place = (values.length - 1) * share;
  const low = Math.floor(place);
  bringToPlace(values, low, from);
  if (low === place) return values[low];
  let next = Number.POSITIVE_INFINITY;
  for (let i = low + 1; i < values.length; i++) if (values[i] < next) next = values[i];
  return values[low] + (next - values[low]) * (place - low);
}

/** The value that a sort would put there; none before it is greater, none after it less. A sort costs ten times as much. */
function bringToPlace(values: Float64Array, place: number, first: number): void {
  let from = first;
  let to = values.length - 1;
  while (from < to) {
    const pivot = values[(from + to) >>> 1];
    let low = from;
    let high = to;
    while (low <= high) {
      while (values[low] < pivot) low++;
      while (values[high] > pivot) high--;
      if (low > high) break;
      const value = values[low];
      values[low++] = values[high];
      values[high--] = value;
    }
    if (place <= high) to = high;
    else if (place >= low) from = low;
    else return;
  }
}
