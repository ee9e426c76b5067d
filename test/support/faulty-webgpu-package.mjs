/** The package `webgpu` with a fault; see faulty-webgpu.mjs. Says on stderr when the fault happens. */
import * as real from 'webgpu';

const { point, kind, at = 1, holdMs = 0 } = JSON.parse(process.env.ROLLNORM_TEST_FAULT);
let calls = 0;

/** Whether this call is the one that fails. */
function hit(name) {
  if (name !== point || (++calls !== at && at !== 0)) return false;
  process.stderr.write(`injected: ${name} ${kind}\n`);
  // A driver may hold the process for as long as it is at work on what it was given.
  if (holdMs > 0) setTimeout(() => {}, holdMs);
  return true;
}

function overriding(target, members) {
  return new Proxy(target, {
    get(object, name) {
      if (Object.hasOwn(members, name)) return members[name];
      const value = Reflect.get(object, name, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}

const { globals } = real;

export { globals };

export function create(options) {
  const gpu = real.create(options);
  return overriding(gpu, {
    async requestAdapter(wanted) {
      const adapter = await gpu.requestAdapter(wanted);
      return adapter && faultyAdapter(adapter);
    },
  });
}

function faultyAdapter(adapter) {
  return overriding(adapter, {
    info: overriding(adapter.info, { isFallbackAdapter: false }),
    async requestDevice(descriptor) {
      if (hit('requestDevice')) throw new Error('injected: no device');
      return faultyDevice(await adapter.requestDevice(descriptor));
    },
  });
}

function faultyDevice(device) {
  let lose;
  let isLost = false;
  const lost = new Promise((resolve) => {
    lose = () => {
      isLost = true;
      resolve({ reason: 'unknown', message: 'injected' });
    };
  });
  const scopes = [];
  const settle = async (name, promise) => {
    if (hit(name)) {
      if (kind === 'never') return new Promise(() => {});
      if (kind === 'fails') throw new Error(`injected: ${name}`);
      lose();
    }
    return isLost ? Promise.reject(new DOMException('', 'AbortError')) : promise();
  };
  const queue = overriding(device.queue, {
    submit(buffers) {
      const fails = hit('submit');
      if (fails && kind === 'lost') lose();
      if (!fails && !isLost) device.queue.submit(buffers);
    },
  });
  return overriding(device, {
    queue,
    lost,
    createBuffer(descriptor) {
      const fails = hit('createBuffer');
      if (fails) {
        const scope = scopes.findLast(({ filter }) => filter === 'out-of-memory');
        if (scope) scope.error = new GPUOutOfMemoryError('injected: no memory left');
      }
      const buffer = device.createBuffer(fails ? { ...descriptor, usage: 0 } : descriptor);
      const mapAsync = buffer.mapAsync.bind(buffer);
      Object.defineProperty(buffer, 'mapAsync', { value: (mode) => settle('mapAsync', () => mapAsync(mode)) });
      return buffer;
    },
    createComputePipelineAsync: (descriptor) =>
      settle('createComputePipelineAsync', () => device.createComputePipelineAsync(descriptor)),
    pushErrorScope(filter) {
      device.pushErrorScope(filter);
      scopes.push({ filter, error: null });
    },
    async popErrorScope() {
      const { error } = scopes.pop();
      const found = await device.popErrorScope();
      return error ?? found;
    },
  });
}
