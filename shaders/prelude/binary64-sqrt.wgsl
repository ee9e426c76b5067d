// binary64-sqrt: f64_sqrt. Needs binary64-bits.

// A truncated root and radicand - root^2, which lies in [0, 2 * root].
struct U64Root {
  root: vec2<u32>,
  remainder: vec2<u32>,
}

// Root of a word in [2^30, 2^32), bit by bit: x is the 16-bit root, y the remainder.
fn u32_sqrt(radicand: u32) -> vec2<u32> {
  var root = 0u;
  var remainder = radicand;
  for (var bit = 0x40000000u; bit != 0u; bit >>= 2u) {
    let trial = root | bit;
    let fits = remainder >= trial;
    remainder -= select(0u, trial, fits);
    root = (root >> 1u) | select(0u, bit, fits);
  }
  return vec2<u32>(root, remainder);
}

// Root of a radicand in [2^62, 2^64), from the root of its high word: the lower 16 bits are the remainder over twice
// that root, at most one too large (Zimmermann, Karatsuba square root).
fn u64_sqrt(radicand: vec2<u32>) -> U64Root {
  let high = u32_sqrt(radicand.y);
  let dividend = (high.y << 15u) + (radicand.x >> 17u); // half of the dividend: high.y <= 2 * high.x keeps it a word
  let digit = dividend / high.x;
  let doubled = ((dividend - digit * high.x) << 1u) | ((radicand.x >> 16u) & 1u);
  let root = (high.x << 16u) + digit;
  // digit may be 2^16 where its square is no word; the square's high word is then 1.
  let square = vec2<u32>(digit * digit, digit >> 16u);
  let rest = u64_subtract(vec2<u32>((doubled << 16u) | (radicand.x & 0xffffu), doubled >> 16u), square);
  let too_large = (rest.y & F64_SIGN) != 0u;
  let corrected = root - u32(too_large);
  let remedy = vec2<u32>((corrected << 1u) | 1u, corrected >> 31u);
  return U64Root(vec2<u32>(corrected, 0u), select(rest, u64_add(rest, remedy), too_large));
}

// Appends 11 bits to a root. `leading` is the upper 16 bits of the remainder on the scale where the upper 16 bits of
// twice the root are those of the reciprocal floor(2^31 / (upper 16 bits of the root + 1)).
//
// With digit < 2^11 the next remainder, remainder * 2^22 - digit * (root * 2^12 + digit), is not negative if
// digit <= remainder * 2^11 / (2 * root + 1). The reciprocal is of at least root + 1, so the estimate satisfies that;
// its three roundings cost less than 1/16 each, so it is the digit or one less. Words wrap, the result fits.
fn u64_sqrt_append(partial: U64Root, leading: u32, reciprocal: u32) -> U64Root {
  let estimate = (leading * reciprocal) >> 20u;
  let doubled = u64_shift_left(partial.root, 12u);
  let factor = vec2<u32>(doubled.x | estimate, doubled.y);
  let rest = u64_subtract(u64_shift_left(partial.remainder, 22u), u64_multiply_digit(factor, estimate));
  let shifted = u64_shift_left(partial.root, 11u);
  let root = vec2<u32>(shifted.x | estimate, shifted.y);
  let next = u64_add(u64_shift_left(root, 1u), vec2<u32>(1u, 0u));
  let is_digit = u64_less(rest, next);
  return U64Root(
    vec2<u32>(root.x + select(1u, 0u, is_digit), root.y), // the low 11 bits were at most 2^11 - 2: no carry
    select(u64_subtract(rest, next), rest, is_digit),
  );
}

fn f64_sqrt(a: vec2<u32>) -> vec2<u32> {
  let parts = f64_unpack(a);
  let odd_power = u32(parts.exponent & 1) ^ 1u; // the bias is odd
  let radicand = u64_shift_left(u64_shift_right_11(parts.significand), 10u + odd_power);

  // 32 bits, then twice 11: a root of 54 bits is the 53 and the rounding bit, its remainder the sticky bit.
  let first = u64_sqrt(radicand);
  let reciprocal = 0x80000000u / ((first.root.x >> 16u) + 1u);
  let second = u64_sqrt_append(first, (first.remainder.y << 15u) | (first.remainder.x >> 17u), reciprocal);
  let third = u64_sqrt_append(second, (second.remainder.y << 4u) | (second.remainder.x >> 28u), reciprocal);
  let root = u64_shift_left(third.root, 10u);
  let sticky = u32((third.remainder.x | third.remainder.y) != 0u);
  let finite = f64_round(0u, ((parts.exponent - 1023) >> 1u) + 1023, vec2<u32>(root.x | sticky, root.y));

  let class_a = f64_class(a);
  let kept = class_a == 0u || class_a == F64_INFINITY_HIGH; // zeros keep their sign
  let invalid = class_a > F64_INFINITY_HIGH || (class_a != 0u && (a.y & F64_SIGN) != 0u);
  return select(select(finite, a, kept), F64_NAN, invalid);
}
