/** Counting sort over small integers: how rows are brought together without comparing them. */

/** Offsets of each bucket's items in the sorted order; length bucketCount + 1. */
export function bucketOffsets(buckets: Uint32Array, bucketCount: number): Uint32Array {
  const offsets = new Uint32Array(bucketCount + 1);
  for (let item = 0; item < buckets.length; item++) offsets[buckets[item] + 1]++;
  for (let bucket = 0; bucket < bucketCount; bucket++) offsets[bucket + 1] += offsets[bucket];
  return offsets;
}

/** Items in bucket order, ascending inside a bucket. */
export function stableOrder(buckets: Uint32Array, offsets: Uint32Array): Uint32Array {
  const next = offsets.slice(0, -1);
  const order = new Uint32Array(buckets.length);
  for (let item = 0; item < buckets.length; item++) order[next[buckets[item]]++] = item;
  return order;
}
