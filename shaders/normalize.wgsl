// ((r - r_1) - centre) / divisor for a piece of a group, 0 in one that is flat or has no positive mean to divide by; one
// invocation walks one piece.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  whole_segments: u32,
  divide: u32,
  keep_flat: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> item_segments: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> references: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> centres: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> divisors: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> statuses: array<u32>;
@group(0) @binding(8) var<storage, read_write> advantages: array<vec2<u32>>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var segment = item;
  if (parameters.whole_segments == 0u) {
    segment = item_segments[at];
  }
  segment -= parameters.segment_base;
  for (var i = bounds[at] - parameters.element_base; i < bounds[at + 1u] - parameters.element_base; i++) {
    var value = f64_subtract(f64_subtract(values[i], references[segment]), centres[segment]);
    if (parameters.divide == 1u) {
      value = f64_divide(value, divisors[segment]);
    }
    let is_flat = statuses[segment] == STATUS_FLAT && parameters.keep_flat == 0u;
    if (is_flat || statuses[segment] == STATUS_NOT_POSITIVE) {
      value = vec2<u32>(0u, 0u);
    }
    advantages[i] = value;
  }
}
