// Each reward less the mean of the others of its group, divided by their standard deviation + epsilon unless they are
// equal. Statistics of the rewards before and after one are merged rather than its own part taken off: those before are
// shifted by the first of the group and those after by the last, so that a reward far from all others costs them no
// digits. One invocation a group.

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
@group(0) @binding(3) var<storage, read> means: array<u32>;
@group(0) @binding(4) var<storage, read_write> means_before: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> squares_before: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> advantages: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> statuses: array<u32>;

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

fn is_equal(a: vec2<u32>, b: vec2<u32>) -> bool {
  return all(without_minus_zero(a) == without_minus_zero(b));
}

// The one place whose others are all equal, in a group of three or more that is not flat; `end`: there is none.
fn odd_one(start: u32, end: u32) -> u32 {
  var odd = end;
  var unequal = 0u;
  var rest_is_equal = true;
  for (var i = start + 1u; i < end; i++) {
    rest_is_equal = rest_is_equal && is_equal(values[i], values[end - 1u]);
    if (!is_equal(values[i], values[start])) {
      unequal += 1u;
      odd = i;
    }
  }
  if (rest_is_equal) {
    return start;
  }
  return select(end, odd, unequal == 1u);
}

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  var status = means[at];
  let start = bounds[at] - parameters.element_base;
  let end = bounds[at + 1u] - parameters.element_base;
  if (start == end) {
    statuses[at] = status;
    return;
  }
  let epsilon = vec2<u32>(parameters.epsilon_low, parameters.epsilon_high);
  let peers = end - start - 1u;
  let first = values[start];
  let last = values[end - 1u];
  let gap = f64_subtract(last, first);
  let odd = odd_one(start, end);
  var moments = Moments(ZERO, ZERO);
  for (var i = start; i < end; i++) {
    means_before[i] = moments.mean;
    squares_before[i] = moments.squares;
    moments = with_one_more(moments, f64_subtract(values[i], first), i - start + 1u);
  }
  moments = Moments(ZERO, ZERO);
  for (var next = end; next > start; next--) {
    let i = next - 1u;
    let before = i - start;
    let after = peers - before;
    let from_last = f64_subtract(values[i], last);
    var squares = squares_before[i];
    var advantage = f64_subtract(f64_subtract(values[i], first), means_before[i]);
    if (before == 0u) {
      squares = moments.squares;
      advantage = f64_subtract(from_last, moments.mean);
    } else if (after > 0u) {
      let apart = f64_add(f64_subtract(moments.mean, means_before[i]), gap);
      let share = f64_divide(f64_from_u32(after), f64_from_u32(peers));
      let mean = f64_add(means_before[i], f64_multiply(apart, share));
      advantage = f64_subtract(f64_subtract(values[i], first), mean);
      let pairs = f64_divide(f64_multiply(f64_from_u32(before), f64_from_u32(after)), f64_from_u32(peers));
      let between = f64_multiply(f64_multiply(apart, apart), pairs);
      squares = f64_add(squares, f64_add(moments.squares, between));
    }
    let has_equal_peers = peers < 2u || i == odd;
    if (means[at] == STATUS_FLAT) {
      advantage = ZERO;
    } else if (!has_equal_peers) {
      let divisor = f64_add(f64_sqrt(f64_divide(squares, f64_from_u32(peers - parameters.ddof))), epsilon);
      advantage = f64_divide(advantage, divisor);
      if ((divisor.y & 0x7ff00000u) == 0x7ff00000u) {
        status = STATUS_OVERFLOW;
      } else if (status == STATUS_REGULAR && vanishes(squares, epsilon)) {
        status = STATUS_VANISHING;
      }
    }
    advantages[i] = advantage;
    moments = with_one_more(moments, from_last, after + 1u);
  }
  statuses[at] = status;
}
