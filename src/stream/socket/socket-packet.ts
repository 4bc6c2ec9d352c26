/** A packet of engine.io as it is handed over before it is sent. */
export interface EnginePacket {
  data?: unknown;
  options?: object;
}

/**
 * Makes a packet of two parts, the second of which many connections share, so that it is not copied for each of them. A
 * WebSocket gets them one after another in one frame; where the packet travels otherwise, they are joined.
 */
export function joinInPacket(packet: EnginePacket, head: Uint8Array, shared: Uint8Array): void {
  // What the library's own broadcasts use to encode a frame once for all.
  packet.options = { ...packet.options, wsPreEncodedFrame: [frameStart(head, shared.length), shared] };
  Object.defineProperty(packet, 'data', { get: () => Buffer.concat([head, shared]) });
}

/** The last frame of a binary message, not masked (RFC 6455 5.2): its header, and the first bytes of its payload. */
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
