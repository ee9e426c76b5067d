/** The advantages of rows in SQL: grpo over the reward of each rollout's row with most tokens. */

/**
 * All columns of the source with `advantage` and the intermediate `row`, `tokens`, `w`, `m`, `s`, `n` beside them.
 * @param source a table, or a call that reads one
 * @param tokens the expression that counts a row's trainable tokens
 */
export function advantagesQuery(source: string, tokens = 'response_length'): string {
  return `WITH r AS (SELECT *, row_number() OVER () AS row, ${tokens} AS tokens FROM ${source}),
      w AS (SELECT group_index, rollout_id, arg_max(reward, tokens) AS w FROM r GROUP BY ALL),
      g AS (SELECT group_index, avg(w) AS m, stddev_samp(w) AS s, count(*) AS n FROM w GROUP BY ALL)
    SELECT *, (CASE WHEN n > 1 AND s > 0 THEN (w - m) / (s + 1e-6) ELSE 0 END)::FLOAT AS advantage
      FROM r JOIN w USING (group_index, rollout_id) JOIN g USING (group_index)`;
}
