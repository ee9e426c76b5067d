// vanishing: sums of squares so small that binary64 has lost their digits.

// Squares below 2^-996 have lost digits (they fall under 2^-1022), and an epsilon below 2^-400 does not hide it. A sum of
// 0 is the extreme case. These are high words; both numbers are not negative.
const SMALLEST_VARIANCE_SUM_HIGH = 0x01b00000u;
const SMALLEST_HIDING_EPSILON_HIGH = 0x26f00000u;

fn vanishes(sum: vec2<u32>, epsilon: vec2<u32>) -> bool {
  return sum.y < SMALLEST_VARIANCE_SUM_HIGH && epsilon.y < SMALLEST_HIDING_EPSILON_HIGH;
}
