// binary64-bits: what the binary64 preludes share: u64 helpers, unpacking, packing with rounding, constants.
//
// A binary64 number and a 64-bit integer are both a vec2<u32>: x is the low word, y the high word. Every function is
// inlined where it is called, so the code is straight-line with selects, and special values are selected last.

const F64_SIGN = 0x80000000u;
const F64_INFINITY_HIGH = 0x7ff00000u;
const F64_NAN = vec2<u32>(0u, 0x7ff80000u);

fn u64_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}

fn u64_subtract(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}

fn u64_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn u64_leading_zeros(a: vec2<u32>) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}

// a * 2^n modulo 2^64 for n < 64. WGSL takes a shift modulo 32, so the bits that cross words move in two shifts.
fn u64_shift_left(a: vec2<u32>, n: u32) -> vec2<u32> {
  let part = n & 31u;
  let low = a.x << part;
  let high = (a.y << part) | ((a.x >> 1u) >> (31u - part));
  return select(vec2<u32>(low, high), vec2<u32>(0u, low), n >= 32u);
}

// a / 2^n for n < 64; bit 0 is set when a one was shifted out, so rounding still sees it.
fn u64_shift_right_sticky(a: vec2<u32>, n: u32) -> vec2<u32> {
  let part = n & 31u;
  let high = a.y >> part;
  let low = (a.x >> part) | ((a.y << 1u) << (31u - part));
  let lost_below_word = (a.x << 1u) << (31u - part);
  let lost_with_word = a.x | ((a.y << 1u) << (31u - part));
  let narrow = vec2<u32>(low | u32(lost_below_word != 0u), high);
  let wide = vec2<u32>(high | u32(lost_with_word != 0u), 0u);
  return select(narrow, wide, n >= 32u);
}

// a / 2^11: from a significand whose leading one is bit 63 to the 53 bits of a binary64 number.
fn u64_shift_right_11(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>((a.x >> 11u) | (a.y << 21u), a.y >> 11u);
}

// a * digit modulo 2^64 for digit < 2^16.
fn u64_multiply_digit(a: vec2<u32>, digit: u32) -> vec2<u32> {
  let upper = (a.x >> 16u) * digit;
  return u64_add(vec2<u32>((a.x & 0xffffu) * digit, a.y * digit), vec2<u32>(upper << 16u, upper >> 16u));
}

// Orders a number's class by one word: 0 for a zero, F64_INFINITY_HIGH for an infinity, more for a NaN.
fn f64_class(a: vec2<u32>) -> u32 {
  return (a.y & ~F64_SIGN) | u32(a.x != 0u);
}

// The exponent that scales the significand: a subnormal's is that of the smallest normal number.
fn f64_exponent(a: vec2<u32>) -> i32 {
  return max(i32((a.y >> 20u) & 0x7ffu), 1);
}

// The 53 bits with the implicit one (bit 52) of a normal number.
fn f64_significand(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x, (a.y & 0xfffffu) | select(0u, 0x100000u, (a.y & F64_INFINITY_HIGH) != 0u));
}

// |number| = significand * 2^(exponent - 1023 - 63). The leading one is bit 63 unless the number is a zero.
struct F64Parts {
  exponent: i32,
  significand: vec2<u32>,
}

fn f64_unpack(a: vec2<u32>) -> F64Parts {
  let significand = f64_significand(a);
  let leading = u64_leading_zeros(significand);
  return F64Parts(f64_exponent(a) + 11 - i32(leading), u64_shift_left(significand, leading & 63u));
}

// The nearest number, ties to even. Bit 63 of the significand must be set; bit 0 may be sticky.
fn f64_round(sign: u32, exponent: i32, significand: vec2<u32>) -> vec2<u32> {
  let below_normal = u32(clamp(1 - exponent, 0, 63));
  let aligned = u64_shift_right_sticky(significand, below_normal);
  let truncated = u64_shift_right_11(aligned);
  let up = u32((aligned.x & 0x7ffu) + (truncated.x & 1u) > 0x400u);
  // The implicit one adds 1 to the exponent field, and so does a carry out of the fraction, up to infinity.
  let field = u32(max(exponent, 1) - 1) << 20u;
  let rounded = u64_add(vec2<u32>(truncated.x, truncated.y + field), vec2<u32>(up, 0u));
  let magnitude = select(rounded, vec2<u32>(0u, F64_INFINITY_HIGH), exponent >= 0x7ff);
  return vec2<u32>(magnitude.x, magnitude.y | sign);
}
