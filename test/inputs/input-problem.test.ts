import { expect, test } from 'vitest';
import { brokerAddress } from '../../src/inputs/broker-address.ts';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { inputProblem } from '../../src/inputs/input-problem.ts';
import { SECOND_MS } from '../../src/lib/time.ts';
import { createTestClock } from '../support/test-clock.ts';

function setUp() {
  const clock = createTestClock();
  const counter = createInputCounter(
    {
      ...{ workgroupId: 'home', input: 'house', kind: 'mqtt' },
      ...{ address: 'mqtt://127.0.0.1:1', connection: 'connecting' },
    },
    clock,
  );
  const problem = () => inputProblem(counter.state(), clock.now())?.message;
  return { clock, counter, problem };
}

test('an input that is not connected is a problem after 30 s, however often it tries, until it is connected', async () => {
  const { clock, counter, problem } = setUp();
  for (let second = 0; second < 29; second++) {
    await clock.advance(SECOND_MS);
    counter.connection('disconnected', 'connect ECONNREFUSED');
    expect(problem()).toBeUndefined();
  }
  await clock.advance(SECOND_MS);
  expect(problem()).toBe(
    'input "house" (mqtt://127.0.0.1:1) is not connected since 2026-11-20T12:00:00.000Z: connect ECONNREFUSED; "wattline doctor" looks for the reason',
  );
  counter.connection('connected');
  expect(problem()).toBeUndefined();
});

test('an input that is not connected is also a problem after the clock was set back', () => {
  const { clock, counter, problem } = setUp();
  counter.connection('disconnected', 'connect ECONNREFUSED');
  clock.set(clock.now() - 29 * SECOND_MS);
  expect(problem()).toBeUndefined();
  clock.set(clock.now() - SECOND_MS);
  expect(problem()).toMatch(/is not connected since 2026-11-20T12:00:00.000Z: connect ECONNREFUSED/);
});

test('a connection that ends again and again is a problem, also while it is connected', async () => {
  const { clock, counter, problem } = setUp();
  const loseIt = async () => {
    counter.connection('connected');
    await clock.advance(20 * SECOND_MS);
    counter.connection('disconnected', 'another client uses the session');
    await clock.advance(SECOND_MS);
    counter.connection('connected');
  };
  await loseIt();
  await loseIt();
  expect(problem()).toBeUndefined();
  await loseIt();
  expect(problem()).toBe(
    'input "house" (mqtt://127.0.0.1:1) has lost its connection 3 times in 5 minutes: another client uses the session; "wattline doctor" looks for the reason',
  );
  await clock.advance(300 * SECOND_MS);
  expect(problem()).toBeUndefined();
});

test('an input that is connected and cannot store messages is a problem after 30 s', async () => {
  const { clock, counter, problem } = setUp();
  counter.connection('connected');
  counter.problem('messages cannot be stored: the disk is full');
  await clock.advance(29 * SECOND_MS);
  expect(problem()).toBeUndefined();
  await clock.advance(SECOND_MS);
  counter.problem('messages cannot be stored: the disk is full');
  expect(problem()).toMatch(/^input "house" .* has a problem since .*: messages cannot be stored: the disk/);
  counter.problem(undefined);
  expect(problem()).toBeUndefined();
});

test('the messages of a minute are the messages of the last 60 s', async () => {
  const { clock, counter } = setUp();
  counter.noteReceived(3);
  await clock.advance(30 * SECOND_MS);
  counter.noteReceived(2);
  expect(counter.state().perMinute).toBe(5);
  await clock.advance(31 * SECOND_MS);
  expect(counter.state()).toMatchObject({ perMinute: 2, received: 5 });
});

test('the address of a broker that people see has no query, which can have a token', () => {
  expect(['wss://b.example.com/mqtt?token=hidden', 'mqtt://127.0.0.1:1883'].map(brokerAddress)).toEqual([
    'wss://b.example.com/mqtt',
    'mqtt://127.0.0.1:1883',
  ]);
});
