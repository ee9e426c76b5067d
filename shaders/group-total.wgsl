// The sum of each group's rewards with the rounding error of every addition added at the end, and the errors of adding
// those, so that rewards of both signs that cancel leave the digits of their mean (SumK of Ogita, Rump, Oishi, K = 3). One
// invocation a group.

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
@group(0) @binding(3) var<storage, read_write> sums: array<vec2<u32>>;

// What rounding took from sum = a + b.
fn lost(a: vec2<u32>, b: vec2<u32>, sum: vec2<u32>) -> vec2<u32> {
  let added = f64_subtract(sum, a);
  return f64_add(f64_subtract(a, f64_subtract(sum, added)), f64_subtract(b, added));
}

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var sum = vec2<u32>(0u, 0u);
  var errors = vec2<u32>(0u, 0u);
  var of_errors = vec2<u32>(0u, 0u);
  for (var i = bounds[at] - parameters.element_base; i < bounds[at + 1u] - parameters.element_base; i++) {
    let next = f64_add(sum, values[i]);
    let error = lost(sum, values[i], next);
    let next_errors = f64_add(errors, error);
    of_errors = f64_add(of_errors, lost(errors, error, next_errors));
    sum = next;
    errors = next_errors;
  }
  let total = f64_add(sum, errors);
  sums[at] = f64_add(total, f64_add(lost(sum, errors, total), of_errors));
}
