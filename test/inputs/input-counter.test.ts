import { expect, test } from 'vitest';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

const SECOND = 1_000;

function setUp(connection: 'idle' | 'connecting' = 'connecting') {
  const clock = createTestClock();
  const of = {
    workgroupId: 'home',
    input: 'house',
    kind: 'mqtt',
    address: 'mqtt://127.0.0.1',
    connection,
  } as const;
  return { clock, counter: createInputCounter(of, clock) };
}

test('an input is troubled from its first try on, however often it tries, until it is connected', () => {
  const { clock, counter } = setUp();
  for (const state of ['disconnected', 'connecting', 'disconnected'] as const) {
    clock.leap(10 * SECOND);
    counter.connection(state, 'refused');
    expect(counter.state()).toMatchObject({
      connection: state,
      sinceMs: TEST_START_MS,
      troubledSinceMs: TEST_START_MS,
    });
  }
  clock.leap(10 * SECOND);
  counter.connection('connected');
  expect(counter.state()).toMatchObject({ sinceMs: TEST_START_MS + 40 * SECOND, disconnects: 0, losses: [] });
  expect(counter.state().troubledSinceMs).toBeUndefined();
  clock.leap(10 * SECOND);
  counter.connection('disconnected', 'gone');
  expect(counter.state()).toMatchObject({ troubledSinceMs: TEST_START_MS + 50 * SECOND, problem: 'gone' });
});

test('only a connection that was there can be lost', () => {
  const { counter } = setUp();
  counter.connection('disconnected', 'refused');
  counter.connection('connected');
  counter.connection('connecting');
  counter.connection('connected');
  expect(counter.state()).toMatchObject({ disconnects: 0, losses: [] });
  counter.connection('disconnected');
  counter.connection('disconnected');
  expect(counter.state()).toMatchObject({
    disconnects: 1,
    losses: [{ atMs: TEST_START_MS, reason: 'the connection has ended' }],
  });
});

test('the newest 100 losses of five minutes are kept, and all are counted', () => {
  const { clock, counter } = setUp();
  const lose = (reason: string) => {
    counter.connection('connected');
    counter.connection('disconnected', reason);
  };
  for (let number = 1; number <= 101; number++) lose(`${number}`);
  const { losses, disconnects } = counter.state();
  expect([losses.length, losses[0]!.reason, losses.at(-1)!.reason, disconnects]).toEqual([
    100,
    '2',
    '101',
    101,
  ]);
  clock.leap(5 * 60 * SECOND - 1);
  expect(counter.state().losses).toHaveLength(100);
  clock.leap(1);
  expect(counter.state()).toMatchObject({ losses: [], disconnects: 101 });
});

test('messages that cannot be stored are a trouble since the first of them, also while it is connected', () => {
  const { clock, counter } = setUp('idle');
  expect(counter.state().troubledSinceMs).toBeUndefined();
  counter.problem('the disk is full');
  clock.leap(SECOND);
  counter.problem('the log is closed');
  expect(counter.state()).toMatchObject({ problem: 'the log is closed', troubledSinceMs: TEST_START_MS });
  counter.problem(undefined);
  expect(counter.state().problem).toBeUndefined();
  clock.leap(SECOND);
  counter.problem('the disk is full');
  expect(counter.state().troubledSinceMs).toBe(TEST_START_MS + 2 * SECOND);
});

test('each message has one outcome, and the last reasons are kept', () => {
  const { clock, counter } = setUp();
  counter.noteReceived();
  clock.leap(SECOND);
  counter.noteReceived(4);
  counter.count('stored', 2);
  counter.count('repeated');
  counter.noteIgnored('no rule');
  counter.noteRefused('line 7', 'no number');
  expect(counter.state()).toMatchObject({
    received: 5,
    stored: 2,
    repeated: 1,
    ignored: 1,
    retained: 0,
    refused: 1,
    lastMessageAtMs: TEST_START_MS + SECOND,
    lastIgnored: 'no rule',
    lastRefused: { atMs: TEST_START_MS + SECOND, about: 'line 7', reason: 'no number' },
  });
});
