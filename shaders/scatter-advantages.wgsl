// Every row takes the advantage of its rollout; one invocation writes one row, so no two write the same place.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  every_rollout_counts: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> row_rollout: array<u32>;
@group(0) @binding(2) var<storage, read> slots: array<u32>;
@group(0) @binding(3) var<storage, read> advantages: array<u32>;
@group(0) @binding(4) var<storage, read_write> row_advantages: array<u32>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var slot = row_rollout[at];
  if (parameters.every_rollout_counts == 0u) {
    slot = slots[slot];
  }
  if (slot == NOT_COUNTED) {
    row_advantages[at] = 0u;
  } else {
    row_advantages[at] = advantages[slot];
  }
}
