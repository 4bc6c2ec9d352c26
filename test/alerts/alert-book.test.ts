import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAlertBook } from '../../src/alerts/alert-book.ts';
import { emptyAlertState } from '../../src/alerts/alert-state.ts';
import { changeByHand } from '../../src/alerts/change-by-hand.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { createForwardingLogger, silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { WAIT_MS_MAX } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { openWatch, silent, startReceiver } from './watch-fixture.ts';

test('an owner that was replaced sends nothing more, and its successor repeats nothing', async () => {
  const receiver = await startReceiver();
  const settings = { channels: [{ id: 'ops', webhook: { url: receiver.url } }] };
  const old = openWatch(settings);
  old.facts.silences = silent('d1');
  await old.round();
  const next = openWatch(settings, { store: old.store });
  next.facts.silences = silent('d1');
  await next.round();
  // The old one does not know it yet: it still believes that it has the lease.
  old.facts.silences = silent('d1', 'd2');
  await old.watch.round();
  await old.watch.settled();
  expect(receiver.received).toHaveLength(1);
  old.owner.isOwner = false;
  next.facts.silences = silent('d1', 'd2');
  await next.round();
  expect(receiver.received.map(({ json }) => json.count)).toEqual([1, 1]);
});

test('a worker that has lost the workgroup lists the alerts of its successor', async () => {
  const receiver = await startReceiver();
  const settings = { channels: [{ id: 'ops', webhook: { url: receiver.url } }] };
  const old = openWatch(settings);
  old.facts.silences = silent('d1');
  await old.round();
  const next = openWatch(settings, { store: old.store });
  next.facts.silences = silent('d2');
  await next.round();
  old.owner.isOwner = false;
  await old.round();
  const open = (await old.watch.state()).alarms.filter(({ endedAtMs }) => endedAtMs === null);
  expect(open.map(({ subject }) => subject)).toEqual(['d2']);
});

test('a message under way at a handover is sent again by the successor with the same key', {
  tags: ['slow'],
}, async () => {
  const receiver = await startReceiver();
  receiver.answers.push(0);
  const settings = { channels: [{ id: 'ops', webhook: { url: receiver.url } }] };
  const old = openWatch(settings);
  old.facts.silences = silent('d1');
  await old.watch.round();
  await expect.poll(() => receiver.received.length, { timeout: WAIT_MS_MAX }).toBe(1);
  await old.watch.leave();
  const next = openWatch(settings, { store: old.store });
  next.facts.silences = silent('d1');
  await next.round();
  const keys = receiver.received.map(({ headers }) => headers['idempotency-key']);
  expect(keys).toHaveLength(2);
  expect(keys[1]).toBe(keys[0]);
});

test('an entry of a replaced owner is refused even if its number is free again', async () => {
  const store = createFolderStore(join(tempDir(), 'alerts'));
  const [old, next] = [openAlertBook(store, silentLogger), openAlertBook(store, silentLogger)];
  const state = await old.claim();
  await next.claim();
  // Each entry deletes those before it.
  await next.save(state);
  await next.save(state);
  expect((await old.save({ ...state, judged: ['gap'] })).kind).toBe('lost');
  expect((await next.read()).judged).toEqual([]);
});

/** A store that creates an entry of its alerts, and then gives a wrong answer, while `isWrong`. */
function openWrongStore() {
  const real = createFolderStore(join(tempDir(), 'alerts'));
  const wrong = {
    isWrong: false,
    store: new Proxy(real, {
      get: (target, name: keyof typeof real) =>
        name === 'createKey' && wrong.isWrong
          ? async (key: string, bytes: Uint8Array) => {
              await real.createKey(key, bytes);
              throw new TerminalError('Wrong', 'the answer is wrong');
            }
          : target[name],
    }),
  };
  return wrong;
}

test('a book takes its own entry without an answer as its own, and a foreign one as the loss of the book', async () => {
  const wrong = openWrongStore();
  const book = openAlertBook(wrong.store, silentLogger);
  const state = await book.claim();
  wrong.isWrong = true;
  expect((await book.save({ ...state, judged: ['gap'] })).kind).toBe('unreachable');
  wrong.isWrong = false;
  expect((await book.save({ ...state, judged: ['gap', 'disk'] })).kind).toBe('saved');
  expect((await book.read()).judged).toEqual(['gap', 'disk']);
  await openAlertBook(wrong.store, silentLogger).claim();
  expect((await book.save(state)).kind).toBe('lost');
});

test('a worker that takes its own book over keeps what its last save stores meanwhile', async () => {
  const real = createFolderStore(join(tempDir(), 'alerts'));
  const held: Array<() => void> = [];
  let isSlow = false;
  const store = new Proxy(real, {
    get: (target, name: keyof typeof real) =>
      name === 'createKey'
        ? async (key: string, bytes: Uint8Array) => {
            if (isSlow) await new Promise<void>((resolve) => held.push(resolve));
            return real.createKey(key, bytes);
          }
        : target[name],
  });
  const book = openAlertBook(store, silentLogger);
  const state = await book.claim();
  isSlow = true;
  const saving = book.save({ ...state, judged: ['gap'] });
  const claiming = book.claim();
  // Both are about to create the same entry.
  await until('both are under way', () => held.length === 2);
  isSlow = false;
  held[0]!();
  await saving;
  held[1]!();
  expect((await claiming).judged).toEqual(['gap']);
});

test('a change by hand that cannot be stored is an error, and is stored with the next change', async () => {
  const wrong = openWrongStore();
  const { watch, round, clock } = openWatch({ channels: [] }, { store: wrong.store });
  await round();
  const snooze = (condition: string) =>
    watch.change(changeByHand({ do: 'snooze', condition, forMs: HOUR_MS, by: 'ada' }, clock.now()));
  wrong.isWrong = true;
  await expect(snooze('gap')).rejects.toThrow('this cannot be stored now; try again in a moment');
  wrong.isWrong = false;
  await snooze('disk');
  const stored = await openAlertBook(wrong.store, silentLogger).read();
  expect(stored.snoozes.map(({ condition }) => condition)).toEqual(['gap', 'disk']);
});

test('a stored state that nobody can read is begun anew, and the log says so', async () => {
  const store = createFolderStore(join(tempDir(), 'alerts'));
  await store.createKey('alerts/000000007.json', Buffer.from('{"format":2}'));
  const lines: string[] = [];
  const book = openAlertBook(
    store,
    createForwardingLogger((line) => lines.push(line)),
  );
  expect(await book.claim()).toEqual(emptyAlertState);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'alerts.begun-anew', file: `${store.address}/alerts/000000007.json` },
  ]);
  expect((await book.save({ ...emptyAlertState, judged: ['gap'] })).kind).toBe('saved');
  expect((await openAlertBook(store, silentLogger).read()).judged).toEqual(['gap']);
});

test('a store that does not answer stops no message, and learns of it later', {
  tags: ['slow'],
}, async () => {
  const receiver = await startReceiver();
  const clock = createTestClock();
  const real = createFolderStore(join(tempDir(), 'alerts'));
  let isDown = false;
  const store = new Proxy(real, {
    get: (target, name: keyof typeof real) =>
      name === 'createKey' && isDown
        ? async () => {
            throw new TransientError('Down', 'the bucket does not answer');
          }
        : target[name],
  });
  const settings = { channels: [{ id: 'ops', webhook: { url: receiver.url } }] };
  const { facts, round } = openWatch(settings, { store, clock });
  await round();
  isDown = true;
  facts.silences = silent('d1');
  await round();
  expect(receiver.received).toHaveLength(1);
  isDown = false;
  await round();
  const next = openWatch(settings, { store: real });
  next.facts.silences = silent('d1');
  await next.round();
  expect(receiver.received).toHaveLength(1);
});
