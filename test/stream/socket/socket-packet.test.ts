import { expect, test } from 'vitest';
import { type EnginePacket, joinInPacket } from '../../../src/stream/socket/socket-packet.ts';

test('a packet of two parts is one WebSocket frame, or one joined packet', () => {
  const headers: Array<[length: number, header: string]> = [
    [3, '8203'],
    [125, '827d'],
    [126, '827e007e'],
    [65_535, '827effff'],
    [65_536, '827f0000000000010000'],
    [1_048_577, '827f0000000000100001'],
  ];
  for (const [length, header] of headers) {
    const head = Buffer.from('abc');
    const shared = new Uint8Array(length - 3).fill(7);
    const packet: EnginePacket = { data: shared, options: { compress: false } };
    joinInPacket(packet, head, shared);
    const [start, rest] = (packet.options as { wsPreEncodedFrame: Uint8Array[] }).wsPreEncodedFrame;
    expect(Buffer.from(start!).toString('hex')).toBe(header + head.toString('hex'));
    expect(rest).toBe(shared);
    expect(packet.options).toMatchObject({ compress: false });
    expect(Buffer.concat([head, shared]).equals(packet.data as Buffer)).toBe(true);
  }
});
