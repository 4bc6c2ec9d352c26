/** A packet of engine.io before it is sent. */
export interface EnginePacket {
  data?: unknown;
  options?: object;
}

/**
 * Builds a packet of a head and messages. Connections share the messages without a copy. A WebSocket sends
 * both parts in one frame; for other transports they are joined.
 */
export function joinInPacket(packet: EnginePacket, head: Uint8Array, shared: Uint8Array): void {
  // socket.io uses this member for broadcasts, to encode a frame once for all receivers.
  packet.options = { ...packet.options, wsPreEncodedFrame: [frameStart(head, shared.length), shared] };
  Object.defineProperty(packet, 'data', { get: () => Buffer.concat([head, shared]) });
}

/**
 * The header of the last frame of a binary message that is not masked (RFC 6455, 5.2), and the first bytes of
 * its payload.
 */
function frameStart(head: Uint8Array, bytesAfter: number): Buffer {
  const length = head.length + bytesAfter;
  const headerBytes = length < 126 ? 2 : length < 0x1_0000 ? 4 : 10;
  const start = Buffer.allocUnsafe(headerBytes + head.length);
  start[0] = 0x82;
  if (headerBytes === 2) start[1] = length;
  else if (headerBytes === 4) {
    start[1] = 126;
    start.writeUInt16BE(length, 2);
  } else {
    start[1] = 127;
    start.writeBigUInt64BE(BigInt(length), 2);
  }
  start.set(head, headerBytes);
  return start;
}
