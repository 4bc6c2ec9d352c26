import { afterEach, expect, test, vi } from 'vitest';
import { type AlertState, emptyAlertState } from '../../src/alerts/alert-state.ts';
import { createMessageSender } from '../../src/alerts/message-sender.ts';
import { createOwnedAlertState } from '../../src/alerts/owned-alert-state.ts';
import type { SendOutcome } from '../../src/alerts/send-alert.ts';
import type { AlertChannel } from '../../src/config/alert-settings.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { createTestClock, settle, TEST_START_MS } from '../support/test-clock.ts';

const ops: AlertChannel = { id: 'ops', ntfy: { url: 'https://ntfy.example/ops' } };
const alarmOf = (condition: string) => ({
  ...{ condition, subject: 'it', text: 'it is so' },
  ...{ openedAtMs: TEST_START_MS, endedAtMs: null, channels: {} },
});
const failed: SendOutcome = { kind: 'failed', why: 'HTTP 503' };

afterEach(() => void vi.useRealTimers());

/** A sender with alarms of these conditions. Its channel gives the answers, and then takes everything. */
function openSender(...conditions: string[]) {
  const clock = createTestClock();
  let stored: AlertState = { ...emptyAlertState, alarms: conditions.map(alarmOf) };
  const state = createOwnedAlertState({
    workgroupId: 'home',
    book: {
      claim: async () => stored,
      async save(next) {
        stored = next;
        return { kind: 'saved' };
      },
      read: async () => stored,
    },
    isOwner: () => true,
    takeOver: (found) => found,
    logger: silentLogger,
  });
  const world = { channels: [ops], isOwner: true, answers: [] as Array<SendOutcome | Promise<SendOutcome>> };
  const sent: string[] = [];
  const counted: string[] = [];
  const signals: AbortSignal[] = [];
  const sender = createMessageSender({
    workgroupId: 'home',
    channels: () => world.channels,
    state,
    isOwner: () => world.isOwner,
    tellsOfMachine: () => true,
    async send(_channel, { condition, attempts }, _workgroupId, signal) {
      sent.push(`${condition} ${attempts}`);
      signals.push(signal);
      return world.answers.shift() ?? { kind: 'told' };
    },
    onSent: (channel, kind) => counted.push(`${channel} ${kind}`),
    clock,
    logger: silentLogger,
  });
  const round = async () => {
    sender.start();
    await sender.settled();
  };
  return { sender, world, sent, counted, signals, clock, round, stored: () => stored };
}

test('all messages that wait are sent in one round, one after another, also after one that was refused', async () => {
  const { world, sent, counted, round, stored } = openSender('gap', 'behind', 'dataLossAhead');
  world.answers.push({ kind: 'refused', why: 'HTTP 404' });
  await round();
  expect(sent).toEqual(['dataLossAhead 1', 'gap 1', 'behind 1']);
  expect(counted).toEqual(['ops refused', 'ops told', 'ops told']);
  expect(stored().alarms.map(({ channels }) => channels.ops)).toEqual(['told', 'told', 'refused']);
  expect(stored().channels.ops).toEqual({ lastSentAtMs: TEST_START_MS, digestAtMs: {} });
});

test('a message that has failed holds up the others, and waits twice as long after each attempt', async () => {
  const { world, sent, clock, round, stored } = openSender('gap', 'behind');
  world.answers.push(failed, failed, failed);
  for (const waitMs of [30 * SECOND_MS, MINUTE_MS, 2 * MINUTE_MS]) {
    await round();
    const { length } = sent;
    await clock.advance(waitMs - 1);
    await round();
    expect(sent).toHaveLength(length);
    await clock.advance(1);
  }
  expect(stored().channels.ops!.lastError!.message).toBe('HTTP 503');
  await round();
  expect(sent).toEqual(['gap 1', 'gap 2', 'gap 3', 'gap 4', 'behind 1']);
  expect(stored().channels.ops).not.toHaveProperty('lastError');
});

test('an attempt is stored before it begins, and nothing is sent if another worker has the workgroup', async () => {
  const { world, sent, round, stored } = openSender('gap');
  world.isOwner = false;
  await round();
  expect([sent, stored().channels.ops!.message!.attempts]).toEqual([[], 1]);
  world.isOwner = true;
  await round();
  expect(sent).toEqual(['gap 2']);
});

test('a channel has one message under way, and its outcome is not stored if the channel was removed meanwhile', async () => {
  const { sender, world, sent, counted, stored } = openSender('gap', 'behind');
  const answer = Promise.withResolvers<SendOutcome>();
  world.answers.push(answer.promise);
  sender.start();
  sender.start();
  await settle();
  expect(sent).toEqual(['gap 1']);
  world.channels = [];
  answer.resolve({ kind: 'told' });
  await sender.settled();
  expect([sent, counted]).toEqual([['gap 1'], ['ops told']]);
  expect(stored().channels.ops).toHaveProperty('message');
  expect(stored().alarms[0]!.channels).toEqual({});
});

test('a sender that ends lets a message arrive, begins no other one, and can start again', async () => {
  const { sender, world, sent, stored, round } = openSender('gap', 'behind');
  const answer = Promise.withResolvers<SendOutcome>();
  world.answers.push(answer.promise);
  sender.start();
  await settle();
  const ended = sender.end();
  answer.resolve({ kind: 'told' });
  await ended;
  expect([sent, stored().channels.ops!.lastSentAtMs]).toEqual([['gap 1'], TEST_START_MS]);
  sender.start();
  await sender.end();
  expect(sent).toEqual(['gap 1']);
  await round();
  expect(sent).toEqual(['gap 1', 'behind 2']);
});

test.each<[outcome: SendOutcome, isStored: boolean]>([
  [{ kind: 'told' }, true],
  [failed, false],
  [{ kind: 'refused', why: 'HTTP 404' }, false],
])(
  'a message that takes long is given up at the end; what is known of it then is stored: %j',
  async (outcome, isStored) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sender, world, sent, counted, signals, stored } = openSender('gap', 'behind');
    const answer = Promise.withResolvers<SendOutcome>();
    world.answers.push(answer.promise);
    sender.start();
    await settle();
    const ended = sender.end();
    signals[0]!.addEventListener('abort', () => answer.resolve(outcome));
    await vi.advanceTimersByTimeAsync(1_999);
    expect(signals[0]!.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await ended;
    expect([sent, counted.length]).toEqual([['gap 1'], isStored ? 1 : 0]);
    expect(stored().channels.ops!.message === undefined).toBe(isStored);
  },
);
