// Sums in the order of src/numeric/summation-tree.ts: neighbours are paired, then the sums of pairs, and so on; a last
// value without a neighbour goes up unchanged. One invocation holds one partial per level.

const TREE_LEVELS = 24u;

var<private> tree_partials: array<vec2<u32>, TREE_LEVELS>;
var<private> tree_count: u32;

fn tree_add(value: vec2<u32>) {
  var sum = value;
  var level = 0u;
  // A set bit of the count is a finished subtree that waits for its right neighbour.
  for (var waiting = tree_count; (waiting & 1u) == 1u; waiting >>= 1u) {
    sum = f64_add(tree_partials[level], sum);
    level++;
  }
  tree_partials[level] = sum;
  tree_count++;
}

fn tree_total() -> vec2<u32> {
  if (tree_count == 0u) {
    return vec2<u32>(0u, 0u);
  }
  let lowest = countTrailingZeros(tree_count);
  var sum = tree_partials[lowest];
  for (var level = lowest + 1u; level < TREE_LEVELS; level++) {
    if (((tree_count >> level) & 1u) == 1u) {
      sum = f64_add(tree_partials[level], sum);
    }
  }
  return sum;
}
