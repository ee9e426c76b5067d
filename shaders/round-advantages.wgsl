// Binary64 advantages, or rewards that pass through, bounded and rounded once to binary32; one invocation rounds one.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  bounded: u32,
  low_low: u32,
  low_high: u32,
  high_low: u32,
  high_high: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> advantages: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> rounded: array<u32>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  let low = vec2<u32>(parameters.low_low, parameters.low_high);
  let high = vec2<u32>(parameters.high_low, parameters.high_high);
  rounded[at] = advantage_bits(advantages[at], parameters.bounded, low, high);
}
