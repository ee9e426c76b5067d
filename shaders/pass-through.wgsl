// A row's own reward, rounded once to binary32; one invocation a row.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> rewards: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> row_advantages: array<u32>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var advantage = f64_to_f32_bits(rewards[at]);
  if (advantage == 0x80000000u) {
    advantage = 0u; // zero is +0
  }
  row_advantages[at] = advantage;
}
