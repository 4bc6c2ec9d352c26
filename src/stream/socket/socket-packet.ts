/** A packet of engine.io before it is sent. */
export interface EnginePacket {
  data?: unknown;
  options?: object;
}

/** The first byte of the last frame of a binary message (RFC 6455, 5.2). */
const LAST_BINARY_FRAME = 0x82;
/** The second byte is the length, or one of these if the length follows in 2 or 8 bytes. */
const LENGTH_IN_2_BYTES = 126;
const LENGTH_IN_8_BYTES = 127;
const LENGTH_IN_2_BYTES_MAX = 0xffff;

/**
 * Builds a packet of a head and messages. Connections share the messages without a copy. A WebSocket sends
 * both parts in one frame; for other transports they are joined.
 */
export function joinInPacket(packet: EnginePacket, head: Uint8Array, shared: Uint8Array): void {
  // socket.io uses this member for broadcasts, to encode a frame once for all receivers.
  packet.options = { ...packet.options, wsPreEncodedFrame: [frameStart(head, shared.length), shared] };
  Object.defineProperty(packet, 'data', { get: () => Buffer.concat([head, shared]) });
}

/** The header of the last frame of an unmasked binary message, and the first bytes of its payload. */
function frameStart(head: Uint8Array, bytesAfter: number): Buffer {
  const length = head.length + bytesAfter;
  const headerBytes = length < LENGTH_IN_2_BYTES ? 2 : length <= LENGTH_IN_2_BYTES_MAX ? 4 : 10;
  const start = Buffer.allocUnsafe(headerBytes + head.length);
  start[0] = LAST_BINARY_FRAME;
  if (headerBytes === 2) start[1] = length;
  else if (headerBytes === 4) {
    start[1] = LENGTH_IN_2_BYTES;
    start.writeUInt16BE(length, 2);
  } else {
    start[1] = LENGTH_IN_8_BYTES;
    start.writeBigUInt64BE(BigInt(length), 2);
  }
  start.set(head, headerBytes);
  return start;
}
