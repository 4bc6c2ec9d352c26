import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { type BrokerMessage, keepConnected } from '../../src/inputs/mqtt-connection.ts';
import { createPacketCutter, cutPackets } from '../../src/inputs/packet-cutter.ts';
import { startSystemTimer } from '../../src/lib/timer.ts';
import { MEBIBYTE } from '../../src/lib/units.ts';
import { testCertificate, testCertificateKey } from '../support/test-certificate.ts';
import { until } from '../support/until.ts';
import { startWebSocketGateway } from '../support/web-socket-gateway.ts';

/** A length as MQTT writes it: digits of seven bits. */
function lengthBytes(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...lengthBytes(length >> 7)];
}

test('a packet that is too large is cut to the limit however its bytes come, and others are left as they are', () => {
  const packet = (length: number, fill: number) => [
    0x32,
    ...lengthBytes(length),
    ...Array(length).fill(fill),
  ];
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 50 }),
      (lengths, sizes) => {
        const cut = createPacketCutter(300);
        const bytes = lengths.flatMap((length, index) => packet(length, index));
        const left: number[] = [];
        for (let from = 0, turn = 0; from < bytes.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          for (const part of cut(Uint8Array.from(bytes.slice(from, from + size)))) left.push(...part);
          from += size;
        }
        expect(left).toEqual(lengths.flatMap((length, index) => packet(Math.min(300, length), index)));
      },
    ),
  );
});

test('the head of the largest packet is read', () => {
  const cut = createPacketCutter(300);
  expect(cut(Uint8Array.from([0x30, ...lengthBytes(268_435_455), 7])).flatMap((part) => [...part])).toEqual([
    0x30,
    ...lengthBytes(300),
    7,
  ]);
});

test('a head that is wrong is left to the library', () => {
  const cut = createPacketCutter(300);
  const wrong = [0x30, 0xff, 0xff, 0xff, 0xff];
  expect(cut(Uint8Array.from(wrong)).flatMap((part) => [...part])).toEqual(wrong);
});

test('a stream says if it has room after its packets were cut', () => {
  const stream = new Readable({ highWaterMark: 8, read: () => undefined });
  cutPackets(stream, 4);
  const packet = Buffer.from([0x30, 6, 1, 2, 3, 4, 5, 6]);
  expect([stream.push(packet), stream.push(packet), stream.push(null)]).toEqual([true, false, false]);
  const cut = [0x30, 4, 1, 2, 3, 4];
  expect([...stream.read()]).toEqual([...cut, ...cut]);
});

function written(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => socket.write(bytes, () => resolve()));
}

/**
 * A broker of MQTT 3.1.1 that takes every client and subscription. `publish` begins once a client has
 * subscribed.
 */
async function startTinyBroker(
  protocol: string,
  acknowledged: number[],
  publish: (socket: Socket) => Promise<void>,
): Promise<string> {
  const serve = (socket: Socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      const kind = bytes[0]! >> 4;
      if (kind === 1) socket.write(Uint8Array.of(0x20, 2, 0, 0));
      if (kind === 4) acknowledged.push(bytes.readUInt16BE(2));
      if (kind !== 8) return;
      socket.write(Uint8Array.of(0x90, 3, bytes[2]!, bytes[3]!, 1));
      void publish(socket);
    });
  };
  const server =
    protocol === 'mqtts'
      ? createTlsServer({ cert: testCertificate, key: testCertificateKey }, serve)
      : createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return protocol === 'wss' ? startWebSocketGateway(port) : `${protocol}://127.0.0.1:${port}`;
}

test.each([
  { protocol: 'mqtt', mebibytes: 256 },
  { protocol: 'mqtts', mebibytes: 17 },
  { protocol: 'wss', mebibytes: 17 },
])(
  'a packet of $mebibytes MiB of a broker of MQTT 3.1.1 is cut, and the next message is read ($protocol)',
  { tags: ['slow'] },
  async ({ protocol, mebibytes }) => {
    const acknowledged: number[] = [];
    const url = await startTinyBroker(protocol, acknowledged, async (socket) => {
      const body = Buffer.concat([Buffer.of(0, 2), Buffer.from('ab'), Buffer.of(0, 9)]);
      const length = mebibytes * MEBIBYTE - 1;
      await written(socket, Buffer.concat([Buffer.of(0x32, ...lengthBytes(length)), body]));
      const chunk = Buffer.alloc(MEBIBYTE, 'x');
      for (let rest = length - body.length; rest > 0; rest -= chunk.length)
        await written(socket, chunk.subarray(0, rest));
      await written(socket, Buffer.concat([Buffer.of(0x30, 5, 0, 2), Buffer.from('ab1')]));
    });
    const rules = [{ topic: 'ab', table: 't', device: 'x', fields: { power: 'payload' } }];
    const tls = protocol !== 'mqtt' && {
      ca: testCertificate,
      clientCertificate: testCertificate,
      clientKey: testCertificateKey,
    };
    const { workgroups } = configSchema.parse({
      workgroups: [{ id: 'home', inputs: { mqtt: [{ id: 'house', url, version: '3.1.1', ...tls, rules }] } }],
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
          message.acknowledge();
          resume();
        },
      },
    });
    onTestFinished(connection.close);
    await until('both messages have come', () => messages.length === 2 && acknowledged.length === 1);
    expect(messages.map(({ payload }) => payload.length)).toEqual([16 * MEBIBYTE - 6, 1]);
    expect(String(messages[1]!.payload)).toBe('1');
    expect([acknowledged, reasons]).toEqual([[9], []]);
  },
);
