// Each reward less a baseline of its own; one invocation a reward.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> values: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> baselines: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> differences: array<vec2<u32>>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  differences[at] = f64_subtract(values[at], baselines[at]);
}
