// advantage: the last step of every advantage. Needs binary64-bits, binary64-convert, binary64-order.

// Bounded where it has bounds, rounded once to binary32, zero being +0. What is no finite number is not bounded.
fn advantage_bits(value: vec2<u32>, bounded: u32, low: vec2<u32>, high: vec2<u32>) -> u32 {
  var kept = value;
  if (bounded == 1u && (value.y & 0x7ff00000u) != 0x7ff00000u) {
    if (is_greater(low, without_minus_zero(kept))) {
      kept = low;
    }
    if (is_greater(kept, high)) {
      kept = high;
    }
  }
  let bits = f64_to_f32_bits(kept);
  return select(bits, 0u, bits == 0x80000000u);
}
