import { expect, test } from 'vitest';
import type { AlertBook } from '../../src/alerts/alert-book.ts';
import { type AlertState, emptyAlertState } from '../../src/alerts/alert-state.ts';
import { createOwnedAlertState } from '../../src/alerts/owned-alert-state.ts';
import { silentLogger } from '../../src/lib/logger.ts';

type Saved = Awaited<ReturnType<AlertBook['save']>>;

/** The state of a worker, with a store that gives these answers, and then takes everything. */
function openState(...answers: Array<Saved['kind']>) {
  const stored: AlertState[] = [];
  let claims = 0;
  const owner = { isOwner: true };
  const state = createOwnedAlertState({
    workgroupId: 'home',
    book: {
      async claim() {
        claims += 1;
        return stored.at(-1) ?? emptyAlertState;
      },
      async save(next) {
        const kind = answers.shift() ?? 'saved';
        if (kind === 'saved') stored.push(next);
        return kind === 'unreachable' ? { kind, why: 'no answer' } : { kind };
      },
      read: async () => stored.at(-1) ?? emptyAlertState,
    },
    isOwner: () => owner.isOwner,
    takeOver: (found) => found,
    logger: silentLogger,
  });
  const judge = (...judged: string[]) => state.update((before) => ({ ...before, judged }));
  return { state, owner, stored, judge, claims: () => claims };
}

test('the book is claimed once, and only changes are stored', async () => {
  const { state, stored, judge, claims } = openState();
  await judge('gap');
  expect(await state.update((before) => before)).toMatchObject({ judged: ['gap'] });
  expect([claims(), stored.length]).toEqual([1, 1]);
  state.forget();
  await state.update((before) => before);
  expect([claims(), stored.length]).toEqual([2, 1]);
});

test('a change that the store did not take holds, and is stored with the next one, even if that changes nothing', async () => {
  const { state, stored, judge } = openState('unreachable');
  expect(await judge('gap')).toMatchObject({ judged: ['gap'] });
  expect([state.isStored(), stored]).toEqual([false, []]);
  expect(await state.read()).toMatchObject({ judged: ['gap'] });
  await state.update((before) => before);
  expect([state.isStored(), stored]).toEqual([true, [{ ...emptyAlertState, judged: ['gap'] }]]);
});

test('a worker that has lost the workgroup changes nothing more', async () => {
  const { owner, stored, judge, claims } = openState('lost', 'saved');
  // Another worker has taken the book over.
  expect(await judge('gap')).toBeUndefined();
  expect(await judge('disk')).toMatchObject({ judged: ['disk'] });
  owner.isOwner = false;
  expect(await judge('gap')).toBeUndefined();
  expect([claims(), stored.length]).toEqual([2, 1]);
});

test('a worker that loses the workgroup while the store does not answer forgets the change', async () => {
  const { state, owner, judge } = openState('unreachable');
  const update = state.update((before) => {
    owner.isOwner = false;
    return { ...before, judged: ['gap'] };
  });
  expect(await update).toBeUndefined();
  owner.isOwner = true;
  expect(await judge('disk')).toEqual({ ...emptyAlertState, judged: ['disk'] });
  expect(await state.read()).toMatchObject({ judged: ['disk'] });
});
