// centre = D / total of each group, and what kind of group it is; one invocation a group.
// A flat group is told by its deviations, before any arithmetic on them.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  weighted: u32,
  single_keeps_reward: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> sums: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> spreads: array<u32>;
@group(0) @binding(4) var<storage, read> references: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> totals: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> centres: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> statuses: array<u32>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  let counted = bounds[at + 1u] - bounds[at];
  if (counted == 1u && parameters.single_keeps_reward == 1u) {
    centres[at] = vec2<u32>(references[at].x, references[at].y ^ F64_SIGN);
    statuses[at] = STATUS_REGULAR;
    return;
  }
  if (spreads[at] == 0u) {
    centres[at] = vec2<u32>(0u, 0u);
    statuses[at] = STATUS_FLAT;
    return;
  }
  var total = f64_from_u32(counted);
  if (parameters.weighted == 1u) {
    total = totals[at];
  }
  centres[at] = f64_divide(sums[at], total);
  let is_finite = (sums[at].y & 0x7ff00000u) != 0x7ff00000u;
  statuses[at] = select(STATUS_OVERFLOW, STATUS_REGULAR, is_finite);
}
