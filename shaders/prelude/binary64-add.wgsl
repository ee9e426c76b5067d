// binary64-add: f64_add and f64_subtract. Needs binary64-bits.

fn f64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let swap = u64_less(vec2<u32>(a.x, a.y & ~F64_SIGN), vec2<u32>(b.x, b.y & ~F64_SIGN));
  let large = select(a, b, swap);
  let small = select(b, a, swap);
  let opposite = ((a.y ^ b.y) & F64_SIGN) != 0u;

  // Leading ones at bit 62 or below leave room for the carry and 10 bits for rounding. When the sum cancels by more
  // than one bit the exponents differ by at most 1, so no sticky bit is ever shifted into the result.
  let exponent = f64_exponent(large);
  let distance = u32(min(exponent - f64_exponent(small), 63));
  let addend = u64_shift_left(f64_significand(large), 10u);
  let shifted = u64_shift_right_sticky(u64_shift_left(f64_significand(small), 10u), distance);
  let sum = select(u64_add(addend, shifted), u64_subtract(addend, shifted), opposite);

  let leading = u64_leading_zeros(sum);
  let finite = f64_round(large.y & F64_SIGN, exponent + 1 - i32(leading), u64_shift_left(sum, leading & 63u));
  let signed = select(finite, vec2<u32>(0u, a.y & b.y & F64_SIGN), leading == 64u);

  // A NaN exceeds an infinity in magnitude, so `large` is the NaN if there is one.
  let large_class = f64_class(large);
  let invalid = large_class > F64_INFINITY_HIGH || (opposite && f64_class(small) == F64_INFINITY_HIGH);
  return select(select(signed, large, large_class == F64_INFINITY_HIGH), F64_NAN, invalid);
}

fn f64_subtract(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return f64_add(a, vec2<u32>(b.x, b.y ^ F64_SIGN));
}
