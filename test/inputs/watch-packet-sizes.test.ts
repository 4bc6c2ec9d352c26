import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { type BrokerMessage, keepConnected } from '../../src/inputs/mqtt-connection.ts';
import { watchPacketSizes } from '../../src/inputs/watch-packet-sizes.ts';
import { startSystemTimer } from '../../src/lib/timer.ts';
import { until } from '../support/until.ts';

/** A length as MQTT writes it: digits of seven bits. */
function lengthBytes(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...lengthBytes(length >> 7)];
}

test('a packet that is too large is seen however its bytes are cut, and others are not', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 20 }),
      fc.integer({ min: 301, max: 268_435_455 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 50 }),
      (lengths, large, cuts) => {
        const seen: number[] = [];
        const watch = watchPacketSizes(300, (bytes) => seen.push(bytes));
        const packets = lengths.flatMap((length) => [
          0x30,
          ...lengthBytes(length),
          ...Array(length).fill(0xff),
        ]);
        const feed = (bytes: number[]) => {
          for (let from = 0, cut = 0; from < bytes.length; cut++) {
            const size = cuts[cut % cuts.length]!;
            watch(Uint8Array.from(bytes.slice(from, from + size)));
            from += size;
          }
        };
        feed(packets);
        expect(seen).toEqual([]);
        feed([0x32, ...lengthBytes(large), ...packets]);
        expect(seen).toHaveLength(1);
        // Later digits of the length may not have been read.
        expect(seen[0]).toBeGreaterThan(300);
        expect(seen[0]).toBeLessThanOrEqual(large);
      },
    ),
  );
});

/** A broker of MQTT 3.1.1 that takes every client and subscription. `publish` begins once a client has subscribed. */
async function startTinyBroker(publish: (socket: Socket, connection: number) => void) {
  let connections = 0;
  const server = createServer((socket) => {
    const connection = ++connections;
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      const kind = bytes[0]! >> 4;
      if (kind === 1) socket.write(Uint8Array.of(0x20, 2, 0, 0));
      if (kind !== 8) return;
      socket.write(Uint8Array.of(0x90, 3, bytes[2]!, bytes[3]!, 1));
      publish(socket, connection);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a packet of 256 MiB of a broker of MQTT 3.1.1 is not gathered, and the connection begins again', async () => {
  const chunk = Buffer.alloc(1024 * 1024);
  let taken = 0;
  const flood = (socket: Socket) => {
    const next = () => {
      if (socket.destroyed || taken > 256) return;
      socket.write(chunk, () => {
        taken++;
        next();
      });
    };
    next();
  };
  const url = await startTinyBroker((socket, connection) => {
    if (connection > 1)
      return void socket.write(Buffer.concat([Buffer.of(0x30, 5, 0, 2), Buffer.from('ab1')]));
    socket.write(Buffer.of(0x32, 0xff, 0xff, 0xff, 0x7f));
    flood(socket);
  });
  const rules = [{ topic: 'ab', table: 't', device: 'x', fields: { power: 'payload' } }];
  const { workgroups } = configSchema.parse({
    workgroups: [{ id: 'home', inputs: { mqtt: [{ id: 'house', url, version: '3.1.1', rules }] } }],
  });
  const reasons: string[] = [];
  const messages: BrokerMessage[] = [];
  const connection = keepConnected({
    settings: workgroups[0]!.inputs!.mqtt[0]!,
    clientId: 'test',
    filters: ['ab'],
    startTimer: startSystemTimer,
    events: {
      connected: () => undefined,
      disconnected: (reason) => reasons.push(reason),
      message(message, resume) {
        messages.push(message);
        resume();
      },
    },
  });
  onTestFinished(connection.close);
  await until('a message of the next connection has come', () => messages.length > 0);
  expect(reasons).toEqual([
    'a message of the broker has 256 MiB or more, and at most 16 MiB are taken; delete it there, and limit the size of messages in its settings',
  ]);
  expect(String(messages[0]!.payload)).toBe('1');
  // What the sockets of both sides hold.
  expect(taken).toBeLessThan(32);
});
