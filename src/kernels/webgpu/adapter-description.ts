/** What a report says of an adapter. */

export interface AdapterDescription {
  readonly vendor: string;
  readonly architecture: string;
  readonly description: string;
  /** True for a driver that computes on the CPU. */
  readonly software: boolean;
}
