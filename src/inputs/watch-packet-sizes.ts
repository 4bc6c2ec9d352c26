/**
 * Watches the bytes of an MQTT connection for packets that are too large. The library gathers a packet before anybody sees its size, and the head of a
 * packet can claim 256 MiB.
 * @param onTooLarge is called with the size, bytes, once the head of such a packet has come. Nothing is watched after it
 * @returns takes the bytes of the connection in their order
 */
export function watchPacketSizes(
  bytesMax: number,
  onTooLarge: (bytes: number) => void,
): (chunk: Uint8Array) => void {
  /** Bytes until the next head. */
  let rest = 0;
  /** The length in a head that has not come as a whole, and the factor of its next digit. Undefined before its first digit. */
  let head: { length: number; factor: number } | undefined;
  let isOver = false;
  return (chunk) => {
    let at = 0;
    while (at < chunk.length && !isOver) {
      if (rest > 0) {
        const taken = Math.min(rest, chunk.length - at);
        rest -= taken;
        at += taken;
        continue;
      }
      const byte = chunk[at++]!;
      if (head === undefined) {
        // The kind of the packet.
        head = { length: 0, factor: 1 };
        continue;
      }
      // Digits of seven bits, the lowest first. The eighth bit says that another one follows.
      head.length += (byte & 0x7f) * head.factor;
      head.factor *= 0x80;
      isOver = head.length > bytesMax;
      if (isOver) onTooLarge(head.length);
      if (byte >= 0x80) continue;
      rest = head.length;
      head = undefined;
    }
  };
}
