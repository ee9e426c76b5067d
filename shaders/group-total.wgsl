// The sum of each group's rewards with the rounding error of every addition added at the end, so that rewards of both
// signs that cancel leave the digits of their mean (Sum2 of Ogita, Rump, Oishi). One invocation a group.

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

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var sum = vec2<u32>(0u, 0u);
  var errors = vec2<u32>(0u, 0u);
  for (var i = bounds[at] - parameters.element_base; i < bounds[at + 1u] - parameters.element_base; i++) {
    let next = f64_add(sum, values[i]);
    let added = f64_subtract(next, sum);
    let lost = f64_add(f64_subtract(sum, f64_subtract(next, added)), f64_subtract(values[i], added));
    errors = f64_add(errors, lost);
    sum = next;
  }
  sums[at] = f64_add(sum, errors);
}
