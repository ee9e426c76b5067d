// The median of each group as the upper one of its middle rewards and what is to be added, as the number between two
// rewards may be none of binary64; or the median of the distances from it. One invocation a group: it finds the key of the middle one bit by bit, counting at every bit how many lie below.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  distances: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> references: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> centres: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> middles: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> medians: array<vec2<u32>>;

const ZERO = vec2<u32>(0u, 0u);
const HALF = vec2<u32>(0u, 0x3fe00000u);

fn term_at(i: u32, at: u32) -> vec2<u32> {
  if (parameters.distances == 0u) {
    return without_minus_zero(values[i]);
  }
  let distance = f64_subtract(f64_subtract(values[i], references[at]), centres[at]);
  return vec2<u32>(distance.x, distance.y & 0x7fffffffu);
}

fn key_below(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn number_of_key(key: vec2<u32>) -> vec2<u32> {
  return select(~key, vec2<u32>(key.x, key.y & 0x7fffffffu), (key.y & 0x80000000u) != 0u);
}

fn count_below(key: vec2<u32>, start: u32, end: u32, at: u32) -> u32 {
  var count = 0u;
  for (var i = start; i < end; i++) {
    count += u32(key_below(order_key(term_at(i, at)), key));
  }
  return count;
}

// The key with `rank` smaller or equal ones before it: the largest key that at most `rank` lie below.
fn key_of_rank(rank: u32, start: u32, end: u32, at: u32) -> vec2<u32> {
  var key = vec2<u32>(0u, 0u);
  for (var bit = 0x80000000u; bit != 0u; bit >>= 1u) {
    let candidate = vec2<u32>(0u, key.y | bit);
    if (count_below(candidate, start, end, at) <= rank) {
      key = candidate;
    }
  }
  for (var bit = 0x80000000u; bit != 0u; bit >>= 1u) {
    let candidate = vec2<u32>(key.x | bit, key.y);
    if (count_below(candidate, start, end, at) <= rank) {
      key = candidate;
    }
  }
  return key;
}

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  let start = bounds[at] - parameters.element_base;
  let end = bounds[at + 1u] - parameters.element_base;
  let count = end - start;
  for (var i = start; i < end; i++) {
    if (is_nan(term_at(i, at))) {
      middles[at] = F64_NAN;
      medians[at] = F64_NAN;
      return;
    }
  }
  if (count == 0u) {
    middles[at] = ZERO;
    medians[at] = ZERO;
    return;
  }
  let upper = key_of_rank(count >> 1u, start, end, at);
  let middle = number_of_key(upper);
  middles[at] = middle;
  if ((count & 1u) == 1u) {
    medians[at] = select(ZERO, middle, parameters.distances == 1u);
    return;
  }
  // The one before is the same if more of its kind lie below the middle, else the largest below.
  var lower = vec2<u32>(0u, 0u);
  if (count_below(upper, start, end, at) < count >> 1u) {
    lower = upper;
  } else {
    for (var i = start; i < end; i++) {
      let key = order_key(term_at(i, at));
      if (key_below(key, upper) && key_below(lower, key)) {
        lower = key;
      }
    }
  }
  if (parameters.distances == 0u) {
    medians[at] = without_minus_zero(f64_multiply(f64_subtract(number_of_key(lower), middle), HALF));
    return;
  }
  let half = f64_multiply(f64_add(number_of_key(lower), middle), HALF);
  // Half of the smallest number is 0, and a distance of 0 would say that the rewards are equal.
  medians[at] = select(half, middle, (half.x | half.y) == 0u);
}
