// Order of binary64 numbers that are not NaN, by their bits.

const MINUS_INFINITY = vec2<u32>(0u, 0xfff00000u);

fn is_nan(value: vec2<u32>) -> bool {
  let magnitude = value.y & 0x7fffffffu;
  return magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && value.x != 0u);
}

// -0 becomes +0: the two are equal.
fn without_minus_zero(value: vec2<u32>) -> vec2<u32> {
  return select(value, vec2<u32>(0u, 0u), value.x == 0u && (value.y & 0x7fffffffu) == 0u);
}

// Bits whose unsigned order is the order of the numbers.
fn order_key(value: vec2<u32>) -> vec2<u32> {
  let negative = (value.y & 0x80000000u) != 0u;
  return select(vec2<u32>(value.x, value.y | 0x80000000u), ~value, negative);
}

fn is_greater(a: vec2<u32>, b: vec2<u32>) -> bool {
  let ka = order_key(a);
  let kb = order_key(b);
  return ka.y > kb.y || (ka.y == kb.y && ka.x > kb.x);
}
