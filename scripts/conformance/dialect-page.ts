/** docs/dialects.md: every cell of the table of dialects in words, and one worked example. */

import type { Dialect, DialectEstimator } from '../../src/estimators/dialect.ts';
import { DIALECT_NAMES, DIALECTS, type DialectName } from '../../src/estimators/dialects.ts';
import type { EstimatorName } from '../../src/estimators/estimators.ts';
import { SIBLING_POLICIES, type SiblingPolicy } from '../../src/estimators/policies.ts';
import { isPassThrough } from '../../src/estimators/rule.ts';
import { type Batch, createEngine, type Engine } from '../../src/index.ts';
import { BASELINE_WORDS, ddofWords, divisorWords, numberWords, singletonWords, stepWords } from './words.ts';

/** Whose reward is the rollout's. */
const SIBLING_WORDS: Readonly<Record<SiblingPolicy, string>> = {
  mainstream: 'the row with most trainable tokens',
  shared: 'all rows carry one reward, else the input is refused',
  first: 'the first row',
  last: 'the last row',
  max: 'the row with the greatest reward',
  min: 'the row with the least reward',
  mean: 'the mean of the rows',
  sum: 'the sum of the rows',
  rows: 'every row is a rollout by itself',
};

export async function dialectPage(): Promise<string> {
  const engine = createEngine({ backend: 'cpu' });
  try {
    const examples = await Promise.all(DIALECT_NAMES.map((name) => exampleOf(engine, name)));
    return `${[INTRODUCTION, cellTable(), frameworkTable(), siblingTable(), exampleText(examples), notes()].join('\n\n')}\n`;
  } finally {
    await engine.close();
  }
}

const INTRODUCTION = `# Dialects: each framework's own rule

<!-- Written by \`npm run conformance\` from src/estimators/dialects.ts; a test fails where the two differ. -->

\`--like NAME\` sets baseline, scale, ddof, epsilon, singletons, siblings, grouping and who counts to what one framework's code
computes, read at the commit named below; explicit flags beat it. Numbers that this code returned lie in
\`test/fixtures/frameworks-vectors.json\`, and a test compares. What \`--like\` gives is the exact value of the framework's rule,
rounded once: the noise of binary32 is not imitated, and a rule that ends in NaN gives 0. Exact numbers to test against lie in
[conformance/](../conformance/README.md).

r is a rollout's reward, A its advantage. M and V are mean and variance of A over what a step goes over.`;

function cellTable(): string {
  const rows = DIALECT_NAMES.flatMap((name) => {
    const { estimators, siblings }: Dialect = DIALECTS[name];
    return (Object.entries(estimators) as [EstimatorName, DialectEstimator][]).map(([estimator, cell]) => {
      const { rule, theirs, siblings: own, clip } = cell;
      const start = [name, `\`${estimator}\``, theirs ? `\`${theirs}\`` : ''];
      const whose = own && own !== siblings ? own : '';
      if (isPassThrough(rule)) return [...start, BASELINE_WORDS[rule.baseline], '-', '-', '-', '-', '-', whose];
      const step = [
        rule.perReward && 'the rewards, each by itself so far, are weighted and added',
        stepWords(rule.step),
        clip && `A bounded to [${clip.join(', ')}]`,
      ];
      const last = step.filter((part) => part && part !== '-').join('; ') || '-';
      const divided = [divisorWords(rule), rule.scale === 'none' ? '-' : numberWords(rule.epsilon), ddofWords(rule)];
      return [...start, BASELINE_WORDS[rule.baseline], ...divided, singletonWords(rule), last, whose];
    });
  });
  const heads = [
    'dialect',
    'estimator',
    'theirs',
    'subtracts',
    'divides by',
    'epsilon',
    'ddof',
    'group of one',
    'then',
    'siblings',
  ];
  return `## Every cell

"epsilon" is added to what is divided by, outside the root of a deviation; a step says itself where its own stands. Flat groups
give 0 before any arithmetic where something of the group is subtracted. "theirs" is the framework's own name or setting where it
has another; "siblings" is named where it is not the dialect's.

${table(heads, rows)}`;
}

function frameworkTable(): string {
  const rows = DIALECT_NAMES.map((name) => {
    const { siblings, grouping, exclude, clipReward, repository, commit, sources }: Dialect = DIALECTS[name];
    const links = sources.map((source) => {
      const [file, ...functions] = source.split(' ');
      const link = `[${file.split('/').at(-1)}](https://github.com/${repository}/blob/${commit.replace('^', '%5E')}/${file})`;
      return functions.length > 0 ? `${link} \`${functions.join(' ')}\`` : link;
    });
    const others = exclude.filter((reason) => reason !== 'missing-reward');
    const groups = grouping === 'group_index' ? 'equal group_index' : 'by position';
    const missing = exclude.includes('missing-reward') ? 'not counted, advantage 0' : 'refused';
    const more = [
      others.length > 0 && `not counted: ${others.join(', ')}`,
      clipReward && `r bounded to [${clipReward.join(', ')}]`,
    ];
    return [
      name,
      `${repository} ${commit}`,
      links.join(', '),
      siblings,
      groups,
      missing,
      more.filter(Boolean).join('; '),
    ];
  });
  return `## Frameworks

By position: slices of \`--n-samples-per-prompt\` rows where that times \`--rollout-batch-size\` is the number of rows, else one
group of all rows; \`--prompt-group-sizes\` beats it.

${table(['dialect', 'repository, commit', 'source', 'siblings', 'groups', 'a missing reward', 'besides'], rows)}`;
}

function siblingTable(): string {
  const used = SIBLING_POLICIES.filter((policy) => DIALECT_NAMES.some((name) => DIALECTS[name].siblings === policy));
  return `## Whose reward is the rollout's

${table(
  ['siblings', 'meaning'],
  used.map((policy) => [policy, SIBLING_WORDS[policy]]),
)}`;
}

/** Three prompt groups; rollouts that became 1, 2 or 3 rows with one reward. Twelve rows, so that slices of four fit. */
const EXAMPLE = [
  {
    group: 'A',
    rollouts: [
      { rows: 2, reward: 1 },
      { rows: 1, reward: 0 },
    ],
  },
  {
    group: 'B',
    rollouts: [
      { rows: 1, reward: 0.5 },
      { rows: 1, reward: 0 },
      { rows: 2, reward: 1 },
    ],
  },
  {
    group: 'C',
    rollouts: [
      { rows: 3, reward: 0.2 },
      { rows: 2, reward: 0.8 },
    ],
  },
].flatMap(({ group, rollouts }) => rollouts.map((rollout, i) => ({ ...rollout, group, name: `${group}${i + 1}` })));

interface Example {
  readonly name: DialectName;
  /** Of every rollout; several where its rows have several. */
  readonly advantages: readonly string[];
}

async function exampleOf(engine: Engine, name: DialectName): Promise<Example> {
  const rows = EXAMPLE.flatMap((rollout) => Array.from({ length: rollout.rows }, () => rollout));
  const batch: Batch = {
    reward: rows.map(({ reward }) => reward),
    groupIndex: rows.map(({ group }) => group),
    rolloutId: rows.map((rollout) => rollout.name),
    trainableTokens: rows.map((_, row) => 10 + row),
  };
  const options = { like: name, nSamplesPerPrompt: 4, rolloutBatchSize: 3 } as const;
  const { advantages } = await engine.normalize(batch, options);
  const texts = EXAMPLE.map((rollout) => {
    const own = [...advantages].filter((_, row) => rows[row] === rollout).map((value) => signed(value));
    return [...new Set(own)].join(', ');
  });
  return { name, advantages: texts };
}

function exampleText(examples: readonly Example[]): string {
  const heads = ['rollout', ...EXAMPLE.map(({ name }) => name)];
  const about = [
    ['rows', ...EXAMPLE.map(({ rows }) => String(rows))],
    ['reward', ...EXAMPLE.map(({ reward }) => String(reward))],
    ...examples.map(({ name, advantages }) => [`\`--like ${name}\``, ...advantages]),
  ];
  return `## One batch, every dialect

Three prompt groups, A, B and C, of 2, 3 and 2 rollouts, which became 12 rows in all. What
\`--like NAME --n-samples-per-prompt 4 --rollout-batch-size 3\` gives (grpo): one advantage a rollout. Two numbers in a cell are
those of a rollout whose rows fell into two groups: dialects that group by position cut the 12 rows into slices of four, whatever
prompt they answer.

${table(heads, about)}`;
}

function notes(): string {
  const lists = DIALECT_NAMES.map(
    (name) => `**${name}**\n\n${DIALECTS[name].notes.map((note) => `- ${text(note)}`).join('\n')}`,
  );
  return `## What to know of each\n\n${lists.join('\n\n')}`;
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(4)}`;
}

/** What Markdown would read as marks. */
function text(words: string): string {
  return words.replaceAll(/[*<>|]/g, (mark) => `\\${mark}`);
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}
