// The best reward of each group less the second best, at its place, and 0 elsewhere. 0 everywhere where the best is tied.
// One invocation a group.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> margins: array<vec2<u32>>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  let start = bounds[at] - parameters.element_base;
  let end = bounds[at + 1u] - parameters.element_base;
  var best = start;
  var best_value = MINUS_INFINITY;
  var second_value = MINUS_INFINITY;
  var is_number = true;
  for (var i = start; i < end; i++) {
    margins[i] = vec2<u32>(0u, 0u);
    if (is_nan(values[i])) {
      is_number = false;
    }
    let value = without_minus_zero(values[i]);
    if (i == start) {
      best_value = value;
    } else if (is_greater(value, best_value)) {
      second_value = best_value;
      best_value = value;
      best = i;
    } else if (is_greater(value, second_value)) {
      second_value = value;
    }
  }
  if (!is_number) {
    for (var i = start; i < end; i++) {
      margins[i] = F64_NAN;
    }
  } else if (end - start > 1u) {
    margins[best] = without_minus_zero(f64_subtract(best_value, second_value));
  }
}
