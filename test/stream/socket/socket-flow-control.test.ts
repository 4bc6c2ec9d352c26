import { expect, test } from 'vitest';
import { createFlowControl } from '../../../src/stream/socket/socket-flow-control.ts';
import { createTestClock, settle } from '../../support/test-clock.ts';

/** The flow control of a subscription. The test says if the transport is clear, and how far the reader is. */
function setUp({ isFarBehind = false } = {}) {
  const clock = createTestClock();
  const listeners = new Set<() => void>();
  const transport = { isClear: true };
  const connection = {
    acknowledges: undefined as boolean | undefined,
    isClear: () => transport.isClear,
    onClear: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const flow = createFlowControl({
    connection,
    startTimer: clock.startTimer,
    isFarBehind: async () => isFarBehind,
  });
  const clear = () => {
    transport.isClear = true;
    for (const listener of [...listeners]) listener();
  };
  /** Begins to wait. The result is undefined until the wait ends. */
  const wait = () => {
    const waited: { result?: boolean } = {};
    void flow.wait().then((result) => {
      waited.result = result;
    });
    return waited;
  };
  return { clock, connection, transport, flow, clear, wait, listeners };
}

test('four frames may be unacknowledged, and each acknowledgement makes room for one', async () => {
  const { flow, wait, connection } = setUp();
  const acknowledgements = [1, 2, 3, 4].map(() => flow.sending());
  expect(flow.isOpen).toBe(false);
  const waited = wait();
  await settle();
  expect(waited.result).toBeUndefined();
  acknowledgements[0]!();
  await settle();
  expect(waited.result).toBe(true);
  expect(connection.acknowledges).toBe(true);
  flow.sending();
  expect(flow.isOpen).toBe(false);
});

test('a client without an acknowledgement in 3 s needs none from then on', async () => {
  const { flow, wait, clock, connection } = setUp();
  for (let frame = 0; frame < 4; frame++) flow.sending();
  const waited = wait();
  await clock.advance(2_999);
  expect([waited.result, connection.acknowledges]).toEqual([undefined, undefined]);
  await clock.advance(1);
  expect([waited.result, connection.acknowledges]).toEqual([true, false]);
  expect(flow.sending()).toBeUndefined();
});

test('a client that has acknowledged a frame counts as one that does, however long the next one takes', async () => {
  const { flow, clock, connection } = setUp();
  flow.sending()!();
  for (let frame = 0; frame < 4; frame++) flow.sending();
  await clock.advance(20_000);
  expect([flow.isOpen, connection.acknowledges]).toEqual([false, true]);
});

test('a transport that is not clear holds back a client of either kind', async () => {
  const { flow, transport, clear, wait, connection } = setUp();
  connection.acknowledges = false;
  transport.isClear = false;
  const waited = wait();
  await settle();
  expect([flow.isOpen, waited.result]).toEqual([false, undefined]);
  clear();
  await settle();
  expect([flow.isOpen, waited.result]).toEqual([true, true]);
});

test.each([
  ['is far behind has 30 s to read a frame', true, false],
  ['is not far behind may wait for longer', false, undefined],
])('a reader that %s', async (_, isFarBehind, result) => {
  const { transport, wait, clock } = setUp({ isFarBehind });
  transport.isClear = false;
  const waited = wait();
  await clock.advance(29_999);
  expect(waited.result).toBeUndefined();
  await clock.advance(1);
  expect(waited.result).toBe(result);
});

test('a subscription that ends waits no longer, and leaves no timer and no listener', async () => {
  const { flow, wait, clock, listeners } = setUp();
  for (let frame = 0; frame < 4; frame++) flow.sending();
  const waited = wait();
  await settle();
  flow.close();
  await settle();
  expect(waited.result).toBe(true);
  expect([clock.timersPending, listeners.size]).toEqual([0, 0]);
});
