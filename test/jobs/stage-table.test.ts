import { expect, test } from 'vitest';
import { pacesOf, stageTable } from '../../jobs/stage-table.ts';
import { configSchema } from '../../src/config/config.ts';
import { pages } from '../support/readme.ts';

test('the stages of a shard have the distances of the configuration, and are polled as often as before without news', () => {
  const config = configSchema.parse({ pipeline: { pollEvery: '3s', maintainEvery: '5m' } });
  const paces = (hasNews: boolean) =>
    Object.fromEntries(
      pacesOf(config.pipeline, { hasExports: false, hasNews }).map((pace) => [pace.stage, pace]),
    );
  expect(paces(true)).toMatchObject({
    poll: { minPeriodMs: 3_000, maxPeriodMs: 30_000 },
    // Nothing shows a roll-up before it is published.
    rollup: { minPeriodMs: 5_000, maxPeriodMs: 30_000 },
    publish: { minPeriodMs: 5_000, maxPeriodMs: 30_000 },
    maintain: { maxPeriodMs: 300_000 },
  });
  expect(paces(false).poll).toMatchObject({ minPeriodMs: 3_000, maxPeriodMs: 3_000 });
  expect(paces(true).export).toBeUndefined();
});

test('the page of limits has the time after which a run of a stage is stopped', () => {
  expect(pages.get('docs/limits.md')).toContain('(`poll` 30 s, `commit` and `export` 30 min, others 10 min)');
  const minutes = Object.values(stageTable).map(({ stage, timeLimitMs }) => [stage, timeLimitMs / 60_000]);
  expect(Object.fromEntries(minutes)).toEqual({
    poll: 0.5,
    rollup: 10,
    publish: 10,
    maintain: 10,
    commit: 30,
    export: 30,
  });
});
