// The advantages by one reward, times its weight, added to those by the rewards before; one invocation a rollout.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  first: u32,
  weight_low: u32,
  weight_high: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> advantages: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> before: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec2<u32>>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  let weighted = f64_multiply(vec2<u32>(parameters.weight_low, parameters.weight_high), advantages[at]);
  if (parameters.first == 1u) {
    sums[at] = weighted;
  } else {
    sums[at] = f64_add(before[at], weighted);
  }
}
