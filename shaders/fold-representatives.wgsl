// The best of the winners of a rollout's pieces; one invocation walks one item's pieces in order.
// The first stays on a tie, as inside a piece.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> candidates: array<u32>;
@group(0) @binding(3) var<storage, read> candidate_ranks: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> winners: array<u32>;
@group(0) @binding(5) var<storage, read_write> ranks: array<vec2<u32>>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var unwritten = candidates[bounds[at] - parameters.element_base] == UNWRITTEN;
  var winner = bounds[at];
  for (var i = bounds[at] + 1u; i < bounds[at + 1u]; i++) {
    let base = parameters.element_base;
    unwritten = unwritten || candidates[i - base] == UNWRITTEN;
    if (is_greater(candidate_ranks[i - base], candidate_ranks[winner - base])) {
      winner = i;
    }
  }
  winners[at] = select(candidates[winner - parameters.element_base], UNWRITTEN, unwritten);
  ranks[at] = candidate_ranks[winner - parameters.element_base];
}
