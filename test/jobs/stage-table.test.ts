import { expect, test } from 'vitest';
import { pacesOf } from '../../jobs/stage-table.ts';
import type { StageName } from '../../jobs/stages.ts';
import { configSchema } from '../../src/config/config.ts';

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
