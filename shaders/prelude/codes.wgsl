// Numbers that the host shares (src/kernels/codes.ts, src/samples/columns.ts).

const COUNT_THE_MASK = 0xffffffffu;
const NOT_COUNTED = 0xffffffffu;

// A u32 result that no kernel wrote; who reads it passes it on.
const UNWRITTEN = 0xffffffffu;

const CHOICE_MAINSTREAM = 0u;
const CHOICE_FIRST = 1u;
const CHOICE_LAST = 2u;
const CHOICE_MAX = 3u;
const CHOICE_MIN = 4u;
const CHOICE_SHARED = 5u;

const STATUS_REGULAR = 0u;
const STATUS_FLAT = 1u;
const STATUS_OVERFLOW = 2u;
const STATUS_VANISHING = 3u;
const STATUS_UNSCALED = 4u;
const STATUS_NOT_POSITIVE = 5u;

const MEASURE_DEVIATION = 0u;
const MEASURE_DEVIATION_INSIDE = 1u;
const MEASURE_DEVIATION_FLOOR = 2u;
const MEASURE_MEDIAN_DISTANCE = 3u;
const MEASURE_MEAN = 4u;
const MEASURE_CONSTANT = 5u;
