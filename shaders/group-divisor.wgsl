// What the centred rewards of each group that is not flat are divided by; one invocation a group.

struct Parameters {
  first_item: u32,
  item_count: u32,
  item_base: u32,
  element_base: u32,
  segment_base: u32,
  measure: u32,
  ddof: u32,
  epsilon_low: u32,
  epsilon_high: u32,
  min_std_low: u32,
  min_std_high: u32,
  weighted: u32,
  leave_one_out: u32,
  single: u32,
  positive_mean: u32,
  flat_too: u32,
}

@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> bounds: array<u32>;
@group(0) @binding(2) var<storage, read> measures: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> totals: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> means: array<u32>;
@group(0) @binding(5) var<storage, read_write> divisors: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> statuses: array<u32>;

const ZERO = vec2<u32>(0u, 0u);
const ONE = vec2<u32>(0u, 0x3ff00000u);
const MAD_FACTOR = vec2<u32>(0xc710cb29u, 0x3ff7b8bau); // 1.4826

fn is_zero(value: vec2<u32>) -> bool {
  return (value.x | (value.y & 0x7fffffffu)) == 0u;
}

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) invocation: vec3<u32>) {
  if (invocation.x >= parameters.item_count) {
    return;
  }
  let item = parameters.first_item + invocation.x;
  let at = item - parameters.item_base;
  divisors[at] = ONE;
  statuses[at] = means[at];
  let epsilon = vec2<u32>(parameters.epsilon_low, parameters.epsilon_high);
  let counted = bounds[at + 1u] - bounds[at];
  let is_flat = means[at] == STATUS_FLAT && parameters.flat_too == 1u;
  if (counted == 0u || (means[at] != STATUS_REGULAR && !is_flat)) {
    return;
  }
  if (counted == 1u && parameters.single > 0u) {
    if (parameters.single == 2u) {
      divisors[at] = f64_add(ONE, epsilon);
    }
    return;
  }
  let value = measures[at];
  var divisor = value;
  var status = STATUS_REGULAR;
  if (parameters.measure == MEASURE_MEAN) {
    let mean = f64_divide(value, f64_from_u32(counted));
    divisor = f64_add(mean, epsilon);
    if (parameters.positive_mean == 1u && !is_nan(value) && !is_greater(value, ZERO)) {
      status = STATUS_NOT_POSITIVE;
    }
  } else if (parameters.measure == MEASURE_MEDIAN_DISTANCE) {
    divisor = f64_add(f64_multiply(MAD_FACTOR, value), epsilon);
    if (is_zero(value) && !is_flat) {
      divisor = ONE;
      status = STATUS_UNSCALED;
    }
  } else if (parameters.measure != MEASURE_CONSTANT) {
    var total = f64_from_u32(counted);
    if (parameters.weighted == 1u) {
      total = totals[at];
    }
    let ddof = f64_from_u32(parameters.ddof);
    var variance = ZERO;
    if (is_greater(total, ddof)) {
      variance = f64_divide(value, f64_subtract(total, ddof));
    }
    if (parameters.measure == MEASURE_DEVIATION) {
      let deviation = f64_sqrt(variance);
      divisor = f64_add(deviation, epsilon);
      let min_std = vec2<u32>(parameters.min_std_low, parameters.min_std_high);
      if (!is_zero(min_std) && !is_flat && vanishes(value, min_std)) {
        status = STATUS_VANISHING;
      } else if (!is_nan(deviation) && is_greater(min_std, deviation)) {
        status = STATUS_FLAT;
      }
    } else if (parameters.measure == MEASURE_DEVIATION_INSIDE) {
      divisor = f64_sqrt(f64_add(variance, epsilon));
    } else {
      divisor = f64_sqrt(select(variance, epsilon, !is_nan(variance) && is_greater(epsilon, variance)));
    }
  }
  if (parameters.leave_one_out == 1u) {
    divisor = f64_multiply(divisor, f64_divide(f64_from_u32(counted - 1u), f64_from_u32(counted)));
  }
  if (status == STATUS_UNSCALED) {
    divisors[at] = divisor;
  }
  if (status == STATUS_REGULAR) {
    let by_spread = parameters.measure == MEASURE_DEVIATION || parameters.measure == MEASURE_MEDIAN_DISTANCE;
    let in_digits = by_spread || parameters.measure == MEASURE_MEAN;
    let size = vec2<u32>(value.x, value.y & 0x7fffffffu);
    if ((divisor.y & 0x7ff00000u) == 0x7ff00000u) {
      status = STATUS_OVERFLOW;
    } else if (is_zero(divisor) || (in_digits && !is_flat && vanishes(size, epsilon))) {
      status = STATUS_VANISHING;
    }
    divisors[at] = divisor;
  }
  if (status != STATUS_REGULAR) {
    statuses[at] = status;
  }
}
