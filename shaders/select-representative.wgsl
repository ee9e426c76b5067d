// The best position among a piece of a rollout's rows; one invocation walks one piece in row order.
// A later row must be better, not as good, to win: the first stays on a tie.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  choice: u32,
  rows_in_order: u32,
  tokens_known: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> rows_by_rollout: array<u32>;
@group(0) @binding(3) var<storage, read> tokens: array<u32>;
@group(0) @binding(4) var<storage, read> rewards: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> winners: array<u32>;
@group(0) @binding(6) var<storage, read_write> ranks: array<vec2<u32>>;

fn row_at(position: u32) -> u32 {
  let local = position - parameters.element_base;
  if (parameters.rows_in_order == 1u) {
    return local;
  }
  return rows_by_rollout[local];
}

// Higher wins. A missing reward ranks below every present one where the reward decides.
fn rank_of(position: u32) -> vec2<u32> {
  let row = row_at(position);
  if (parameters.choice == CHOICE_MAINSTREAM) {
    if (parameters.tokens_known == 0u) {
      return vec2<u32>(0u, 0u);
    }
    return f64_from_u32(tokens[row]);
  }
  if (parameters.choice == CHOICE_LAST) {
    return f64_from_u32(position);
  }
  let reward = rewards[row];
  let missing = is_nan(reward);
  if (parameters.choice == CHOICE_SHARED) {
    return f64_from_u32(select(1u, 0u, missing));
  }
  if (parameters.choice == CHOICE_FIRST || missing) {
    return MINUS_INFINITY;
  }
  let negated = vec2<u32>(reward.x, reward.y ^ 0x80000000u);
  return without_minus_zero(select(negated, reward, parameters.choice == CHOICE_MAX));
}

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var unwritten = false;
  var winner = bounds[at];
  var best = MINUS_INFINITY;
  for (var position = bounds[at]; position < bounds[at + 1u]; position++) {
    unwritten = unwritten || (parameters.tokens_known == 1u && tokens[row_at(position)] == UNWRITTEN);
    let rank = rank_of(position);
    if (is_greater(rank, best)) {
      best = rank;
      winner = position;
    }
  }
  winners[at] = select(winner, UNWRITTEN, unwritten);
  ranks[at] = best;
}
