// Copies 16 bytes an invocation: the traffic that a kernel is measured against.

override workgroup_size: u32 = 64u;

@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> target_words: array<vec4<u32>>;

@compute @workgroup_size(workgroup_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let stride = groups.x * workgroup_size;
  for (var i = id.x; i < arrayLength(&source); i += stride) {
    target_words[i] = source[i];
  }
}
