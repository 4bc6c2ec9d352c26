import { expect, test } from 'vitest';
import type { Ask } from '../../src/client/position.ts';
import { limits } from '../../src/contract/wire-limits.ts';
import {
  type FailingBatch,
  isHopeless,
  noteBatchFailure,
  noteBatchSuccess,
} from '../../src/pipeline/failing-batch.ts';

test('three failures in a row at one position shrink the batch, and each batch that lands lets it grow', () => {
  const most = limits.messagesPerReadMax;
  const at = (offset: bigint): Ask => ({ kind: 'offset', offset });
  let stuck: FailingBatch | undefined;
  const fail = (offset: bigint, code = 'WarehouseFailure') => {
    stuck = noteBatchFailure(stuck, at(offset), code);
    return [stuck?.failures, stuck?.messagesMax];
  };
  expect(fail(1n, 'DiskFull')).toEqual([undefined, undefined]);
  expect([fail(1n), fail(1n, 'Unexpected'), fail(2n)]).toEqual([
    [1, most],
    [2, most],
    [1, most],
  ]);
  expect([fail(2n), fail(2n, 'DiskFull'), fail(2n)]).toEqual([
    [2, most],
    [2, most],
    [0, most / 10],
  ]);
  expect(noteBatchSuccess(stuck)).toBeUndefined();
  while (stuck!.messagesMax > 1) fail(2n);
  expect([fail(2n), fail(2n)].map(() => isHopeless(stuck, at(2n)))).toEqual([false, false]);
  fail(2n);
  expect([isHopeless(stuck, at(2n)), isHopeless(stuck, at(3n))]).toEqual([true, false]);
  expect(noteBatchSuccess(stuck)).toMatchObject({ failures: 0, messagesMax: 10 });
});
