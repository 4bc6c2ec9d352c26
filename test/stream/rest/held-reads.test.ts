import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { HOUR_MS } from '../../../src/lib/time.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { createHeldReads } from '../../../src/stream/rest/held-reads.ts';
import type { PollAnswer } from '../../../src/stream/rest/long-poll.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { createTestClock, settle } from '../../support/test-clock.ts';

const request = {
  start: { kind: 'oldest' },
  limit: 1,
  bytesMax: 1e6,
  holdMs: HOUR_MS,
  filter: {},
} as const;

function setUp(draining = new AbortController().signal) {
  const clock = createTestClock();
  const log = createMemoryLog({ clock, retentionMs: HOUR_MS, bytesMax: 1e9, logger: silentLogger });
  onTestFinished(() => log.close());
  const { startTimer } = clock;
  return { clock, log, reads: createHeldReads({ clock, startTimer, retentionMs: HOUR_MS, draining }) };
}

test('a token that was revoked since the last check gets no messages', async () => {
  const { clock, log, reads } = setUp();
  let isRevoked = false;
  const recheck = () => {
    if (isRevoked) throw new Error('the token was revoked');
    return true;
  };
  const holder = { expiresAtMs: clock.now() + HOUR_MS, recheck };
  const read = reads.poll(log, request, new AbortController().signal, holder);
  await clock.advance(500);
  isRevoked = true;
  await log.append(telemetryBatch(1));
  await expect(read).rejects.toThrow('the token was revoked');
});

test('a read ends within a second after its token was revoked, even if messages keep arriving', async () => {
  const { clock, log, reads } = setUp();
  let isRevoked = false;
  const recheck = () => {
    if (isRevoked) throw new Error('the token was revoked');
    return true;
  };
  const holder = { expiresAtMs: clock.now() + HOUR_MS, recheck };
  const refusals: unknown[] = [];
  const read = reads.poll(log, { ...request, limit: 9 }, new AbortController().signal, holder);
  const ended = read.catch((error: unknown) => refusals.push(error));
  await clock.advance(500);
  await log.append(telemetryBatch(1));
  isRevoked = true;
  await clock.advance(499);
  expect(refusals).toEqual([]);
  await clock.advance(1);
  await ended;
  expect(refusals).toMatchObject([{ message: 'the token was revoked' }]);
});

test('a read ends with its messages when its token expires', async () => {
  const { clock, log, reads } = setUp();
  const holder = { expiresAtMs: clock.now() + 700, recheck: () => true };
  const answers: PollAnswer[] = [];
  const read = reads.poll(log, { ...request, limit: 9 }, new AbortController().signal, holder);
  void read.then((answer) => answers.push(answer));
  await clock.advance(300);
  await log.append(telemetryBatch(1));
  await clock.advance(399);
  expect(answers).toEqual([]);
  await clock.advance(1);
  expect(answers).toMatchObject([{ count: 1 }]);
});

test('a read is not held if the service drains already, or the caller is gone', async () => {
  const draining = setUp(AbortSignal.abort());
  const gone = setUp();
  const answers: PollAnswer[] = [];
  const note = (answer: PollAnswer) => void answers.push(answer);
  void draining.reads.poll(draining.log, request, new AbortController().signal).then(note);
  void gone.reads.poll(gone.log, request, AbortSignal.abort()).then(note);
  await settle();
  expect(answers).toMatchObject([{ count: 0 }, { count: 0 }]);
});

test('a read that has ended leaves no listener and no timer', async () => {
  const draining = new AbortController().signal;
  const caller = new AbortController().signal;
  const { clock, log, reads } = setUp(draining);
  const holder = { expiresAtMs: clock.now() + HOUR_MS, recheck: () => true };
  const read = reads.poll(log, request, caller, holder);
  await settle();
  const listeners = () => [draining, caller].map((signal) => getEventListeners(signal, 'abort').length);
  expect([...listeners(), reads.countOf(log)]).toEqual([1, 1, 1]);
  await log.append(telemetryBatch(1));
  await read;
  expect([...listeners(), reads.countOf(log), clock.timersPending]).toEqual([0, 0, 0, 0]);
});
