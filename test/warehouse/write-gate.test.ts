import { expect, onTestFinished, test, vi } from 'vitest';
import { createWriteGate } from '../../src/warehouse/write-gate.ts';
import { settle } from '../support/test-clock.ts';

const busy = expect.objectContaining({ code: 'WarehouseBusy' });
const LONG_MS = 60_000;

/** A gate, and what happened there, in order. */
function setUp() {
  const gate = createWriteGate();
  const events: string[] = [];
  const enter = (name: string) => gate.enter().then(() => events.push(name));
  /** An exclusive call that ends when `finish` is called. */
  const alone = (politeMs = LONG_MS, waitMs = LONG_MS) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const ended = gate.alone(
      () => {
        events.push('alone');
        return promise;
      },
      { politeMs, waitMs },
    );
    return { finish: () => resolve('done'), ended };
  };
  return { gate, events, enter, alone };
}

test('writers run together, and an exclusive call waits for the last of them', async () => {
  const { gate, events, enter, alone } = setUp();
  await enter('one');
  const { finish, ended } = alone();
  await enter('two');
  gate.leave();
  await settle();
  expect(events).toEqual(['one', 'two']);
  gate.leave();
  await settle();
  expect(events).toEqual(['one', 'two', 'alone']);
  finish();
  expect(await ended).toBe('done');
});

test('a writer waits for the end of an exclusive call, even if that call fails', async () => {
  const { gate, events, enter, alone } = setUp();
  const { finish, ended } = alone();
  const entered = enter('writer');
  await settle();
  expect(events).toEqual(['alone']);
  finish();
  await ended;
  await entered;
  gate.leave();
  await expect(gate.alone(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await enter('next');
  expect(events).toEqual(['alone', 'writer', 'next']);
});

test('after its polite time, an exclusive call that waits lets no new writer in', async () => {
  const { gate, events, enter, alone } = setUp();
  await enter('one');
  const { finish, ended } = alone(0);
  // The polite time of 0 ms is over after this timer.
  await new Promise((resolve) => setTimeout(resolve, 2));
  const entered = enter('two');
  await settle();
  expect(events).toEqual(['one']);
  gate.leave();
  finish();
  await ended;
  await entered;
  expect(events).toEqual(['one', 'alone', 'two']);
});

test('an exclusive call that waits in vain gives up, and writers enter again', async () => {
  const { gate, events, enter, alone } = setUp();
  await enter('one');
  const { ended } = alone(0, 1);
  await expect(ended).rejects.toEqual(busy);
  await enter('two');
  gate.leave();
  gate.leave();
  const next = alone();
  next.finish();
  expect(await next.ended).toBe('done');
  expect(events).toEqual(['one', 'two', 'alone']);
});

test('a second exclusive call is refused while one runs or waits', async () => {
  const { gate, enter, alone } = setUp();
  const running = alone();
  await expect(alone().ended).rejects.toEqual(busy);
  running.finish();
  await running.ended;
  await enter('one');
  const waiting = alone(0);
  await expect(alone().ended).rejects.toEqual(busy);
  gate.leave();
  waiting.finish();
  expect(await waiting.ended).toBe('done');
});

test('no timer is left when an exclusive call has its turn, or has given up', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const gate = createWriteGate();
  await gate.enter();
  const ended = gate.alone(async () => vi.getTimerCount());
  gate.leave();
  expect(await ended).toBe(0);
  await gate.enter();
  const refused = expect(gate.alone(async () => undefined)).rejects.toEqual(busy);
  await vi.runAllTimersAsync();
  await refused;
  expect(vi.getTimerCount()).toBe(0);
});

test('a writer that waits does not enter if another exclusive call begins just before it', async () => {
  const { events, enter, alone } = setUp();
  const first = alone();
  const entered = enter('writer');
  await settle();
  const second = Promise.withResolvers<ReturnType<typeof alone>>();
  first.finish();
  // This runs after the end of the first call, and before the writer.
  queueMicrotask(() => second.resolve(alone()));
  await settle();
  expect(events).toEqual(['alone', 'alone']);
  const { finish, ended } = await second.promise;
  finish();
  await Promise.all([first.ended, ended, entered]);
  expect(events).toEqual(['alone', 'alone', 'writer']);
});
