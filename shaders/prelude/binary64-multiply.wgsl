// binary64-multiply: f64_multiply. Needs binary64-bits.

// The 64-bit product of two words, from four products of 16-bit halves.
fn u32_multiply_wide(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u); // at most (2^16 - 1) * 2^16: no carry
  let cross = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return vec2<u32>((cross << 16u) | (low & 0xffffu), (a >> 16u) * (b >> 16u) + (middle >> 16u) + (cross >> 16u));
}

// The upper 64 bits of a 128-bit product; bit 0 is set when a lower bit is.
fn u64_multiply_high_sticky(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = u32_multiply_wide(a.x, b.x);
  let first = u64_add(u32_multiply_wide(a.y, b.x), vec2<u32>(low.y, 0u));
  let second = u64_add(u32_multiply_wide(a.x, b.y), vec2<u32>(first.x, 0u));
  let carried = u64_add(u32_multiply_wide(a.y, b.y), vec2<u32>(first.y, 0u));
  let high = u64_add(carried, vec2<u32>(second.y, 0u));
  return vec2<u32>(high.x | u32((low.x | second.x) != 0u), high.y);
}

fn f64_multiply(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let sign = (a.y ^ b.y) & F64_SIGN;
  let left = f64_unpack(a);
  let right = f64_unpack(b);

  // Factors in [2^63, 2^64) have the leading one of their upper product at bit 63 or 62.
  let product = u64_multiply_high_sticky(left.significand, right.significand);
  let leading = 1u - (product.y >> 31u);
  let exponent = left.exponent + right.exponent - 1022 - i32(leading);
  let finite = f64_round(sign, exponent, u64_shift_left(product, leading));

  let larger = max(f64_class(a), f64_class(b));
  let has_zero = min(f64_class(a), f64_class(b)) == 0u;
  let zero_or_finite = select(finite, vec2<u32>(0u, sign), has_zero);
  let invalid = larger > F64_INFINITY_HIGH || (has_zero && larger == F64_INFINITY_HIGH);
  let number = select(zero_or_finite, vec2<u32>(0u, sign | F64_INFINITY_HIGH), larger == F64_INFINITY_HIGH);
  return select(number, F64_NAN, invalid);
}
