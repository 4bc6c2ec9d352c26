import { expect, test } from 'vitest';
import { balanceShards } from '../../jobs/balance-shards.ts';
import { silentLogger } from '../../src/lib/logger.ts';

function givenUp(kept: string[], workers: number, awake: string[]): string[] {
  const ids: string[] = [];
  const handOver = (id: string) => void ids.push(id);
  balanceShards(kept, { survey: { workers, awake, free: [] }, handOver, logger: silentLogger });
  return ids;
}

test.each([
  [['a', 'b', 'c'], 1, ['a', 'b', 'c'], []],
  [['a', 'b', 'c'], 2, ['a', 'b', 'c'], ['c']],
  [['a', 'b'], 2, ['a', 'b', 'c'], []],
  // What hibernates needs no worker.
  [['a', 'b'], 2, ['a', 'b'], ['b']],
])('with %j here, %i workers and %j awake, %j are handed over', (kept, workers, awake, expected) => {
  expect(givenUp(kept, workers, awake)).toEqual(expected);
});
