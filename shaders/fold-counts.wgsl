// Adds the counts of a row's pieces; one invocation adds the pieces of one item.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  whole_rows: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> partials: array<u32>;
@group(0) @binding(3) var<storage, read> fixed_tokens: array<u32>;
@group(0) @binding(4) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var unwritten = false;
  var count = 0u;
  for (var i = bounds[at]; i < bounds[at + 1u]; i++) {
    let partial = partials[i - parameters.element_base];
    unwritten = unwritten || partial == UNWRITTEN;
    count += partial;
  }
  if (parameters.whole_rows == 1u && fixed_tokens[at] != COUNT_THE_MASK) {
    count = fixed_tokens[at];
  }
  counts[at] = select(count, UNWRITTEN, unwritten);
}
