import { expect, test } from 'vitest';
import { pacesOf, stageTable } from '../../jobs/stage-table.ts';
import type { StageName } from '../../jobs/stages.ts';
import { configSchema } from '../../src/config/config.ts';
import { pages } from '../support/readme.ts';

function paceOf(
  stage: StageName,
  pipeline: Record<string, number> = {},
  workgroup: Parameters<typeof pacesOf>[1] = { hasExports: true, hasNews: true },
) {
  const paces = pacesOf(configSchema.parse({ pipeline }).pipeline, workgroup);
  return paces.find((pace) => pace.stage === stage);
}

test('a roll-up is not more frequent than publications, because nobody sees it earlier', () => {
  expect(paceOf('rollup', { rollupEvery: 2_000, publishEvery: 5_000 })).toMatchObject({ minPeriodMs: 5_000 });
  expect(paceOf('rollup', { rollupEvery: 7_000, publishEvery: 5_000 })).toMatchObject({ minPeriodMs: 7_000 });
  expect(paceOf('publish', { rollupEvery: 7_000, publishEvery: 5_000 })).toMatchObject({
    minPeriodMs: 5_000,
  });
});

test('the other stages run at the times of the configuration, and at least every 30 s', () => {
  expect(paceOf('rollup')).toMatchObject({ maxPeriodMs: 30_000 });
  expect(paceOf('publish')).toMatchObject({ minPeriodMs: 5_000, maxPeriodMs: 30_000 });
  expect(paceOf('rollup', { rollupEvery: 40_000 })).toMatchObject({ maxPeriodMs: 40_000 });
  expect(paceOf('publish', { publishEvery: 40_000 })).toMatchObject({ maxPeriodMs: 40_000 });
  expect(paceOf('maintain', { maintainEvery: 300_000 })).toMatchObject({
    minPeriodMs: 1_000,
    maxPeriodMs: 300_000,
  });
});

test('without news the stream is polled, and without exports no stage exports', () => {
  const pipeline = { pollEvery: 1_500 };
  expect(paceOf('poll', pipeline)).toMatchObject({ minPeriodMs: 1_500, maxPeriodMs: 30_000 });
  expect(paceOf('poll', pipeline, { hasExports: true, hasNews: false })).toMatchObject({
    maxPeriodMs: 1_500,
  });
  expect(paceOf('export')).toBeDefined();
  expect(paceOf('export', {}, { hasExports: false, hasNews: true })).toBeUndefined();
});

test('commits have the pace of the bucket, and are left out without a bucket', () => {
  const commits = { maxPeriodMs: 7_000, lateAfterMs: 60_000 };
  expect(paceOf('commit', {}, { hasExports: true, hasNews: true, commits })).toMatchObject({
    minPeriodMs: 7_000,
    maxPeriodMs: 7_000,
  });
  expect(paceOf('commit')).toBeUndefined();
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
