import { expect, test } from 'vitest';
import type { NextBatches } from '../../src/rollup/bind-settings.ts';
import { planWork } from '../../src/rollup/plan-work.ts';

/** Batches 4 to 6 of 8 are next, with 30 messages. One stream has taken batch 3, and another one batch 5. */
const next: NextBatches = {
  batch_id: 6n,
  newest_id: 8n,
  messages: 30n,
  batches: 3n,
  all_taken_id: 3n,
  any_taken_id: 5n,
  has_pending: false,
  archived: false,
  set_aside: 0n,
  corrections: 0n,
  streams: null,
  sources: '',
};
const newBatches = {
  afterBatchId: 3n,
  batchId: 6n,
  newestId: 8n,
  arrivedAfterId: 5n,
  batches: 3,
  messages: 30,
};
const noBatches = {
  afterBatchId: 3n,
  batchId: 3n,
  newestId: 8n,
  arrivedAfterId: -1n,
  batches: 0,
  messages: 0,
};
const nothing = { hasWaiting: false, hasArchived: false, hasCorrections: false, hasSetAside: false };
const plan = (more: Partial<NextBatches> = {}, prefersNew = false) =>
  planWork({ ...next, ...more }, undefined, { prefersNew });

test('without devices that wait, a call computes the new batches', () => {
  const work = { kind: 'new', restatement: undefined, ...nothing, ...newBatches };
  expect(plan()).toEqual(work);
  expect(plan({}, true)).toEqual(work);
});

test('if all batches that are left are taken at once, the last one is the newest', () => {
  expect(plan({ batch_id: null })).toMatchObject({ afterBatchId: 3n, batchId: 8n });
});

test('in a new warehouse there are no batches', () => {
  const empty = { batch_id: null, newest_id: null, messages: null, batches: 0n };
  expect(plan({ ...empty, all_taken_id: null, any_taken_id: null })).toMatchObject({
    ...{ kind: 'new', afterBatchId: -1n, batchId: -1n, newestId: -1n, arrivedAfterId: -1n },
    ...{ batches: 0, messages: 0 },
  });
});

test('devices that wait and new batches take turns; without new messages it is the turn of the devices', () => {
  const waiting = { kind: 'waiting', hasWaiting: true, ...noBatches };
  expect(plan({ has_pending: true })).toMatchObject(waiting);
  expect(plan({ has_pending: true }, true)).toMatchObject({ kind: 'new', hasWaiting: true, ...newBatches });
  expect(plan({ has_pending: true, messages: 0n }, true)).toMatchObject(waiting);
  expect(plan({ has_pending: true, messages: null }, true)).toMatchObject(waiting);
});

test('after a change of settings everything is computed, also devices that wait', () => {
  for (const has_pending of [true, false])
    expect(planWork({ ...next, has_pending }, 'zone', { prefersNew: false })).toEqual({
      ...{ kind: 'all', restatement: 'zone', ...nothing, hasWaiting: has_pending, ...newBatches },
    });
});

test('what there is besides batches is known', () => {
  expect(plan({ archived: true })).toMatchObject({ ...nothing, hasArchived: true });
  expect(plan({ set_aside: 1n })).toMatchObject({ ...nothing, hasSetAside: true });
  expect(plan({ corrections: 1n })).toMatchObject({ ...nothing, hasCorrections: true });
});
