// binary64-probe: writes probe(a, b) for every pair. The test adds `fn probe`, which calls the operation under test,
// so that a driver compiles that operation alone.

struct Probe {
  count: u32,
  row: u32,
}

@group(0) @binding(0) var<uniform> settings: Probe;
@group(0) @binding(1) var<storage, read> pairs: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> results: array<vec2<u32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let index = id.y * settings.row + id.x;
  if (id.x < settings.row && index < settings.count) {
    results[index] = probe(pairs[index].xy, pairs[index].zw);
  }
}
