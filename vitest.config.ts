import { defineConfig } from 'vitest/config';

// Where a machine-readable result goes beside the readable one.
const report = process.env.ROLLNORM_TEST_REPORT;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Dawn keeps native threads; a fork that ends cleanly is the only isolation that never aborts the run.
    pool: 'forks',
    maxWorkers: 2,
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/property-seed.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Process tests take half a second each; only what is slower than that is worth a line.
    slowTestThreshold: 5_000,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
