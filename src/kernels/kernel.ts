/** What a kernel is to the rest of the program: a shader, a CPU twin of the same name, and the bindings that both have. */

/** `u32` numbers, `f64` binary64 as pairs of u32 in WGSL, `f32` binary32 as its bits in WGSL. */
export type ElementType = 'u32' | 'f64' | 'f32';

/**
 * Which part of an array a range of items touches, so that work can be cut where a whole array does not fit:
 * `item` one entry an item, `bounds` one more (offsets), `element` the entries that the bounds span, `segment` those of
 * the items' segments, `table` any entry, `row` the elements' entries if the parameter rowsInOrder is 1 and else any.
 */
export type Extent = 'item' | 'bounds' | 'element' | 'segment' | 'table' | 'row';

export interface BindingSpec<T extends ElementType = ElementType> {
  readonly type: T;
  readonly access: 'read' | 'write';
  readonly extent: Extent;
}

export const read = <T extends ElementType>(type: T, extent: Extent): BindingSpec<T> => ({
  type,
  access: 'read',
  extent,
});
export const write = <T extends ElementType>(type: T, extent: Extent): BindingSpec<T> => ({
  type,
  access: 'write',
  extent,
});

interface ArrayOf {
  u32: Uint32Array;
  f64: Float64Array;
  f32: Float32Array;
}
export type HostArray<T extends ElementType = ElementType> = ArrayOf[T];

export type BindingMap = Readonly<Record<string, BindingSpec>>;
export type Views<B extends BindingMap> = { readonly [K in keyof B]: HostArray<B[K]['type']> };
export type Parameters<P extends string> = Readonly<Record<P, number>>;

/** Fields that every kernel's parameter struct begins with. */
export const DISPATCH_FIELDS = ['firstItem', 'itemCount', 'itemBase', 'elementBase', 'segmentBase'] as const;
export type DispatchField = (typeof DISPATCH_FIELDS)[number];

export interface Kernel<B extends BindingMap = BindingMap, P extends string = string> {
  readonly name: string;
  /** Shared WGSL files it needs, in order; its own file is `${name}.wgsl`. */
  readonly preludes: readonly string[];
  /** u32 fields after the dispatch fields, in the order of the shader's struct. */
  readonly parameters: readonly P[];
  /** An item walks all elements of its segment, however many, and may do so several times. */
  readonly walksWholeSegments?: true;
  /** How often it looks at an element, where that is much more than once. */
  readonly looksPerElement?: number;
  /** In the order of the shader's binding numbers, from 1 (0 holds the parameters). */
  readonly bindings: B;
  /**
   * Does what the shader does for the items [firstItem, firstItem + itemCount). Entry x of an `item` array stands at
   * x - itemBase of its view, and so on.
   */
  twin(parameters: Parameters<P | DispatchField>, views: Views<B>): void;
}

/** Names a kernel and keeps the types of its bindings. */
export function defineKernel<const B extends BindingMap, const P extends string>(kernel: Kernel<B, P>): Kernel<B, P> {
  return kernel;
}

export const BYTES_PER_ELEMENT: Readonly<Record<ElementType, number>> = { u32: 4, f64: 8, f32: 4 };

export function allocateHost<T extends ElementType>(type: T, length: number): HostArray<T> {
  const make = {
    u32: () => new Uint32Array(length),
    f64: () => new Float64Array(length),
    f32: () => new Float32Array(length),
  };
  return make[type]() as HostArray<T>;
}

export const bytesOf = ({ type, length }: { readonly type: ElementType; readonly length: number }): number =>
  length * BYTES_PER_ELEMENT[type];

/** Runs a kernel's twin over whole host arrays; an array that is null is one that the parameters say is unused. */
export function runTwin<B extends BindingMap, P extends string>(
  kernel: Kernel<B, P>,
  parameters: Parameters<P>,
  itemCount: number,
  hostOf: (name: string) => HostArray | null,
  elementBase: number,
): void {
  const views = Object.entries(kernel.bindings).map(([name, { type }]) => [
    name,
    hostOf(name) ?? allocateHost(type, 0),
  ]);
  const bases = { firstItem: 0, itemCount, itemBase: 0, elementBase, segmentBase: 0 };
  kernel.twin({ ...parameters, ...bases }, Object.fromEntries(views));
}
