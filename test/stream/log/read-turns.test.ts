import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createReadTurns } from '../../../src/stream/log/read-turns.ts';

/** @param msPerTurn 0: every piece waits for its own turn */
function setUp(msPerTurn: number) {
  const turns = createReadTurns(msPerTurn);
  const ran: string[] = [];
  const run = (reader: string, name: string, isBegun = false) =>
    turns.run(reader, isBegun, async () => ran.push(name));
  return { turns, ran, run };
}

test('one piece runs in a turn of the event loop, however many wait', async () => {
  const { ran, run } = setUp(0);
  const pieces = Array.from({ length: 20 }, (_, index) => run('many', String(index)));
  for (let turn = 1; turn <= pieces.length; turn++) {
    await nextTurn();
    expect(ran.length).toBe(turn);
  }
  expect(ran).toEqual(pieces.map((_, index) => String(index)));
});

test('readers take turns, and a read that has begun comes before other reads of its reader', async () => {
  const { ran, run } = setUp(0);
  await Promise.all([
    run('many', 'many 1'),
    run('many', 'many 2'),
    run('many', 'many 3'),
    run('many', 'many begun', true),
    run('few', 'few 1'),
    run('few', 'few 2'),
  ]);
  expect(ran).toEqual(['many begun', 'few 1', 'many 1', 'few 2', 'many 2', 'many 3']);
});

test('pieces that wait run one after another while there is time in the turn, also after one that fails', async () => {
  const { turns, ran, run } = setUp(60_000);
  const first = Promise.withResolvers<void>();
  let inTurn = true;
  const pieces = [turns.run('a', false, () => first.promise)];
  expect(turns.isOver()).toBe(false);
  void nextTurn().then(() => {
    inTurn = false;
  });
  // They do not wait for the first one, because it does not use the event loop now.
  await Promise.all([run('a', '1'), run('b', '2')]);
  expect([ran, inTurn]).toEqual([['1', '2'], true]);
  first.reject(new Error('the disk is away'));
  await expect(pieces[0]).rejects.toThrow('the disk is away');

  const slow = createReadTurns(0);
  await expect(slow.run('a', false, () => Promise.reject(new Error('fault')))).rejects.toThrow('fault');
  await slow.run('a', false, async () => ran.push('3'));
  expect(ran).toEqual(['1', '2', '3']);
});

test('a turn goes to the next piece as soon as the one before has ended, if there is time left', async () => {
  const { turns, ran, run } = setUp(200);
  // Uses up the time of this turn, so that the others wait.
  await turns.run('a', false, async () => {
    while (!turns.isOver());
  });
  const pieces = [run('a', '1'), run('b', '2'), run('a', '3')];
  expect(ran).toEqual([]);
  await nextTurn();
  let others = 0;
  void nextTurn().then(() => others++);
  await Promise.all(pieces);
  expect([ran, others]).toEqual([['1', '2', '3'], 0]);
});

test('a new read waits behind the pieces that wait, even if there is time left in the turn', async () => {
  const { turns, ran, run } = setUp(200);
  // Uses up the time of this turn, so that the others wait.
  await turns.run('a', false, async () => {
    while (!turns.isOver());
  });
  let added: Promise<unknown> | undefined;
  const adding = turns.run('a', false, async () => {
    ran.push('1');
    added = run('c', 'new');
  });
  await Promise.all([adding, run('b', '2')]);
  await added;
  expect(ran).toEqual(['1', '2', 'new']);
});
