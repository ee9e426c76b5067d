// Over a piece of a group, the tree sum of w d with d = r - r_1, or of w (d - centre)^2; one invocation sums one piece.
// Also whether any d is not zero. The order of the sum is that of prelude/summation-tree.wgsl.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  whole_segments: u32,
  squared: u32,
  weighted: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> item_segments: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> references: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> centres: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> weights: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> sums: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> spreads: array<u32>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var segment = item;
  if (parameters.whole_segments == 0u) {
    segment = item_segments[at];
  }
  segment -= parameters.segment_base;
  let reference = references[segment];
  var centre = vec2<u32>(0u, 0u);
  if (parameters.squared == 1u) {
    centre = centres[segment];
  }
  var spread = 0u;
  for (var i = bounds[at]; i < bounds[at + 1u]; i++) {
    var term = f64_subtract(values[i - parameters.element_base], reference);
    if ((term.x | (term.y & 0x7fffffffu)) != 0u) {
      spread = 1u;
    }
    if (parameters.squared == 1u) {
      term = f64_subtract(term, centre);
      term = f64_multiply(term, term);
    }
    if (parameters.weighted == 1u) {
      term = f64_multiply(weights[i - parameters.element_base], term);
    }
    tree_add(term);
  }
  sums[at] = tree_total();
  spreads[at] = spread;
}
