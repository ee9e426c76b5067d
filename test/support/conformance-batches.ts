/** The conformance files as batches with options. */
import { readdirSync, readFileSync } from 'node:fs';
import type { BatchJson, ConformanceFile } from '../../scripts/conformance/files.ts';
import type { Batch } from '../../src/index.ts';

const directory = new URL('../../conformance/', import.meta.url);

export const CONFORMANCE_NAMES = readdirSync(directory).filter((name) => name.endsWith('.json'));

export function readConformance(name: string): ConformanceFile {
  return JSON.parse(readFileSync(new URL(name, directory), 'utf8'));
}

/** Every rollout is one row; the groups come from sizesOf. */
export function batchOf({ rewards, tokens, baselines }: BatchJson): Batch {
  const several = Array.isArray(rewards) ? null : Object.entries(rewards).map(([key, own]) => [key, own.flat()]);
  return {
    ...(several ? { rewards: Object.fromEntries(several) } : { reward: Object.values(rewards).flat() }),
    trainableTokens: tokens.flat(),
    baseline: baselines.flat(),
    rolloutId: tokens.flat().map((_, i) => i),
  };
}

/** Rollouts of each group. */
export function sizesOf({ tokens }: BatchJson): number[] {
  return tokens.map((group) => group.length);
}
