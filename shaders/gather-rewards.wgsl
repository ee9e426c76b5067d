// The reward at each position of a list; one invocation moves one.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  rows_in_order: u32,
  position_base: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> positions: array<u32>;
@group(0) @binding(2) var<storage, read> rows_by_rollout: array<u32>;
@group(0) @binding(3) var<storage, read> rewards: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> values: array<vec2<u32>>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  if (positions[at] == UNWRITTEN) {
    values[at] = vec2<u32>(0u, 0x7ff80000u); // NaN
    return;
  }
  var row = positions[at] - parameters.position_base;
  if (parameters.rows_in_order == 0u) {
    row = rows_by_rollout[row];
  }
  values[at] = rewards[row];
}
