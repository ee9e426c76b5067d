// Goes on with the summation tree over the sums of a group's pieces; one invocation sums one item's pieces.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> partial_sums: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> partial_spreads: array<u32>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> spreads: array<u32>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var spread = 0u;
  for (var i = bounds[at]; i < bounds[at + 1u]; i++) {
    tree_add(partial_sums[i - parameters.element_base]);
    spread |= partial_spreads[i - parameters.element_base];
  }
  sums[at] = tree_total();
  spreads[at] = spread;
}
