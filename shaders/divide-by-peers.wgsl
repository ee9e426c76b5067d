// Each reward less the mean of the others of its group, divided by their standard deviation + epsilon where that is not
// 0. Statistics of the rewards before and after one are merged rather than its own part taken off, so that equal peers
// have a deviation of exactly 0. One invocation a group.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  ddof: u32,
  epsilon_low: u32,
  epsilon_high: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> references: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> statuses: array<u32>;
@group(0) @binding(5) var<storage, read_write> means_before: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> squares_before: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> advantages: array<vec2<u32>>;

const ZERO = vec2<u32>(0u, 0u);

// Mean and sum of squares of some rewards, and one more.
struct Moments {
  mean: vec2<u32>,
  squares: vec2<u32>,
}

fn with_one_more(moments: Moments, deviation: vec2<u32>, count: u32) -> Moments {
  let step = f64_subtract(deviation, moments.mean);
  let mean = f64_add(moments.mean, f64_divide(step, f64_from_u32(count)));
  return Moments(mean, f64_add(moments.squares, f64_multiply(step, f64_subtract(deviation, mean))));
}

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  let start = bounds[at] - parameters.element_base;
  let end = bounds[at + 1u] - parameters.element_base;
  let peers = end - start - 1u;
  var moments = Moments(ZERO, ZERO);
  for (var i = start; i < end; i++) {
    means_before[i] = moments.mean;
    squares_before[i] = moments.squares;
    moments = with_one_more(moments, f64_subtract(values[i], references[at]), i - start + 1u);
  }
  moments = Moments(ZERO, ZERO);
  for (var next = end; next > start; next--) {
    let i = next - 1u;
    let deviation = f64_subtract(values[i], references[at]);
    let before = i - start;
    let after = peers - before;
    let apart = f64_subtract(moments.mean, means_before[i]);
    var peers_mean = means_before[i];
    var peers_squares = squares_before[i];
    if (before == 0u) {
      peers_mean = moments.mean;
      peers_squares = moments.squares;
    } else if (after > 0u) {
      let share = f64_divide(f64_from_u32(after), f64_from_u32(peers));
      peers_mean = f64_add(peers_mean, f64_multiply(apart, share));
      let pairs = f64_divide(f64_multiply(f64_from_u32(before), f64_from_u32(after)), f64_from_u32(peers));
      let between = f64_multiply(f64_multiply(apart, apart), pairs);
      peers_squares = f64_add(peers_squares, f64_add(moments.squares, between));
    }
    var scale = ZERO;
    if (peers > parameters.ddof) {
      scale = f64_sqrt(f64_divide(peers_squares, f64_from_u32(peers - parameters.ddof)));
    }
    var advantage = f64_subtract(deviation, peers_mean);
    if (is_nan(scale) || is_greater(scale, ZERO)) {
      advantage = f64_divide(advantage, f64_add(scale, vec2<u32>(parameters.epsilon_low, parameters.epsilon_high)));
    }
    if (statuses[at] == STATUS_FLAT) {
      advantage = ZERO;
    }
    advantages[i] = advantage;
    moments = with_one_more(moments, deviation, after + 1u);
  }
}
