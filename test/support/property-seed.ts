/** Property tests run on the same inputs every time; ROLLNORM_SEED tries others. */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.ROLLNORM_SEED ?? 20_260_101) });
