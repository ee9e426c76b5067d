// divisor = sqrt(V / (n - ddof)) + epsilon of each group that is not flat; one invocation a group.

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
@group(0) @binding(2) var<storage, read> square_sums: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> means: array<u32>;
@group(0) @binding(4) var<storage, read_write> divisors: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read_write> statuses: array<u32>;

const ONE = vec2<u32>(0u, 0x3ff00000u);

// Squares below 2^-996 have lost digits in binary64 (they fall under 2^-1022), and an epsilon below 2^-400 does not hide
// it. A zero divisor is the extreme case. These are high words; both numbers are not negative.
const SMALLEST_VARIANCE_SUM_HIGH = 0x01b00000u;
const SMALLEST_HIDING_EPSILON_HIGH = 0x26f00000u;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  if (means[at] != STATUS_REGULAR) {
    divisors[at] = ONE;
    statuses[at] = means[at];
    return;
  }
  let counted = bounds[at + 1u] - bounds[at];
  let variance = f64_divide(square_sums[at], f64_from_u32(counted - parameters.ddof));
  let divisor = f64_add(f64_sqrt(variance), vec2<u32>(parameters.epsilon_low, parameters.epsilon_high));
  divisors[at] = divisor;
  if ((divisor.y & 0x7ff00000u) == 0x7ff00000u) {
    statuses[at] = STATUS_OVERFLOW;
  } else if (square_sums[at].y < SMALLEST_VARIANCE_SUM_HIGH && parameters.epsilon_high < SMALLEST_HIDING_EPSILON_HIGH) {
    statuses[at] = STATUS_VANISHING;
  } else {
    statuses[at] = STATUS_REGULAR;
  }
}
