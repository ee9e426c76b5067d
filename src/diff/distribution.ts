/** What a list of differences looks like in four numbers. */

export interface Distribution {
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
}

/** Of all parts together; 0 where there is nothing. Quantiles between two values are interpolated, as numpy does. */
export function distributionOf(parts: readonly Float64Array[]): Distribution {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (length === 0) return { mean: 0, median: 0, p90: 0 };
  const sorted = new Float64Array(length);
  let at = 0;
  for (const part of parts) {
    sorted.set(part, at);
    at += part.length;
  }
  sorted.sort();
  let sum = 0;
  for (const value of sorted) sum += value;
  return { mean: sum / length, median: quantile(sorted, 0.5), p90: quantile(sorted, 0.9) };
}

function quantile(sorted: Float64Array, share: number): number {
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  const high = Math.ceil(place);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}
