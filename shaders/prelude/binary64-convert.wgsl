// binary64-convert: f64_from_u32 and f64_to_f32_bits. Needs binary64-bits.

fn f64_from_u32(n: u32) -> vec2<u32> {
  let leading = countLeadingZeros(n);
  let significand = n << (leading & 31u);
  // The leading one (bit 31) lands on bit 20 and adds 1 to the exponent field.
  let high = ((1023u + 30u - leading) << 20u) + (significand >> 11u);
  return select(vec2<u32>(significand << 21u, high), vec2<u32>(0u, 0u), n == 0u);
}

// The bits of the nearest binary32 number, ties to even.
fn f64_to_f32_bits(a: vec2<u32>) -> u32 {
  let sign = a.y & F64_SIGN;
  let exponent = i32((a.y >> 20u) & 0x7ffu) - 896;
  // Leading one at bit 31. A zero or a subnormal gets one too: it is far below half the smallest binary32 number.
  let significand = F64_SIGN | ((a.y & 0xfffffu) << 11u) | (a.x >> 21u);
  let below_normal = u32(clamp(1 - exponent, 0, 31));
  let lost = (a.x << 11u) | ((significand << 1u) << (31u - below_normal));
  let aligned = (significand >> below_normal) | u32(lost != 0u);
  let truncated = aligned >> 8u;
  let up = u32((aligned & 0xffu) + (truncated & 1u) > 0x80u);
  let rounded = (u32(max(exponent, 1) - 1) << 23u) + truncated + up;
  let number = select(rounded, 0x7f800000u, exponent >= 255);
  return select(sign | number, 0x7fc00000u, f64_class(a) > F64_INFINITY_HIGH);
}
