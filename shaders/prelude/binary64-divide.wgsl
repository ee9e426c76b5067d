// binary64-divide: f64_divide. Needs binary64-bits.

// Quotient of two significands in [2^52, 2^53) with dividend >= divisor: 1 and 55 binary places, then the sticky bit.
//
// Long division by five digits of 11 bits, so that a shifted remainder (below divisor * 2^11) fits 64 bits. With n and
// d the upper 16 bits of remainder and divisor, a digit is estimated as n * floor(2^31 / (d + 1)) / 2^20. The three
// roundings (n and the reciprocal down, d up) cost less than 1/16 each and all lower the estimate, so it is the digit
// or one less, and one conditional subtraction corrects it.
fn u64_divide_significands(dividend: vec2<u32>, divisor: vec2<u32>) -> vec2<u32> {
  let reciprocal = 0x80000000u / ((divisor.y >> 5u) + 1u);
  var remainder = u64_subtract(dividend, divisor);
  var quotient = vec2<u32>(1u, 0u);
  for (var place = 0; place < 5; place++) {
    let estimate = ((remainder.y >> 5u) * reciprocal) >> 20u;
    let rest = u64_subtract(u64_shift_left(remainder, 11u), u64_multiply_digit(divisor, estimate));
    let is_digit = u64_less(rest, divisor);
    remainder = select(u64_subtract(rest, divisor), rest, is_digit);
    let shifted = u64_shift_left(quotient, 11u);
    quotient = vec2<u32>(shifted.x + estimate + select(1u, 0u, is_digit), shifted.y);
  }
  let doubled = u64_shift_left(quotient, 1u);
  return vec2<u32>(doubled.x | u32((remainder.x | remainder.y) != 0u), doubled.y);
}

fn f64_divide(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let sign = (a.y ^ b.y) & F64_SIGN;
  let left = f64_unpack(a);
  let right = f64_unpack(b);

  let halved = u32(u64_less(left.significand, right.significand));
  let dividend = u64_shift_left(u64_shift_right_11(left.significand), halved);
  let quotient = u64_divide_significands(dividend, u64_shift_right_11(right.significand));
  let exponent = left.exponent - right.exponent + 1023 - i32(halved);
  let finite = f64_round(sign, exponent, u64_shift_left(quotient, 7u));

  let dividend_class = f64_class(a);
  let divisor_class = f64_class(b);
  let larger = max(dividend_class, divisor_class);
  let is_zero = dividend_class == 0u || divisor_class == F64_INFINITY_HIGH;
  let is_infinite = dividend_class == F64_INFINITY_HIGH || divisor_class == 0u;
  let invalid = larger > F64_INFINITY_HIGH || (is_zero && is_infinite);
  let zero_or_finite = select(finite, vec2<u32>(0u, sign), is_zero);
  let number = select(zero_or_finite, vec2<u32>(0u, sign | F64_INFINITY_HIGH), is_infinite);
  return select(number, F64_NAN, invalid);
}
