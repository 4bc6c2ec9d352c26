import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { limitPackets, type PacketConnection } from '../../../src/stream/socket/limit-packets.ts';

/** A connection that gets packets. `closed` counts how often it was closed without its buffered data. */
function setUp(isWaiting: () => boolean) {
  let receive: Parameters<PacketConnection['on']>[1] = () => undefined;
  let closed = 0;
  limitPackets(
    {
      on: (_event, listener) => {
        receive = listener;
      },
      close: (discard) => {
        if (discard) closed++;
      },
    },
    isWaiting,
  );
  const get = (count: number, packet: Parameters<typeof receive>[0]) => {
    for (let number = 0; number < count; number++) receive(packet);
  };
  return { get, closed: () => closed };
}

const event = { type: 'message', data: '2["stream:latest",{}]' };

test('a connection that is not authenticated may send 10 messages, in any number of turns, and any pings', async () => {
  const { get, closed } = setUp(() => true);
  get(20, { type: 'ping' });
  for (let number = 0; number < 10; number++) {
    get(1, event);
    await nextTurn();
  }
  expect(closed()).toBe(0);
  get(1, event);
  expect(closed()).toBe(1);
});

test('a connection that is authenticated may ask 10 times for a namespace', () => {
  const { get, closed } = setUp(() => false);
  get(10, { type: 'message', data: '0{"token":"t"}' });
  get(100, event);
  get(1, { type: 'message', data: Buffer.from('0') });
  expect(closed()).toBe(0);
  get(1, { type: 'message', data: '0/admin,' });
  expect(closed()).toBe(1);
});

test('a connection that is authenticated may send 500 packets at once, and again in the next turn', async () => {
  const { get, closed } = setUp(() => false);
  for (let turn = 0; turn < 3; turn++) {
    get(500, event);
    await nextTurn();
  }
  expect(closed()).toBe(0);
  get(501, event);
  expect(closed()).toBe(1);
});
