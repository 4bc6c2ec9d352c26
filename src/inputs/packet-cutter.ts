import type { Readable } from 'node:stream';

/**
 * Cuts the large packets of a stream to a size before anybody reads them.
 * @see createPacketCutter
 */
export function cutPackets(stream: Pick<Readable, 'push'>, bytesMax: number): void {
  const cut = createPacketCutter(bytesMax);
  const push = stream.push.bind(stream);
  // False asks the network to wait until there is room.
  stream.push = (chunk: Uint8Array | null) =>
    chunk === null ? push(null) : cut(chunk).reduce((_, part) => push(part), true);
}

/**
 * Cuts large packets of an MQTT connection to a size. The library gathers a packet as a whole before anybody
 * sees its size, and a packet can have 256 MiB. A cut packet is a packet again: its head has the new length.
 * @returns takes the bytes of the connection in their order, and returns the bytes that are left
 */
export function createPacketCutter(bytesMax: number): (chunk: Uint8Array) => Uint8Array[] {
  /** The head of a packet as far as it has come: its kind, and digits of its length. */
  let head: number[] = [];
  /** Bytes of the packet that are left as they are, and bytes after them that are cut off. */
  let [kept, cut] = [0, 0];
  return (chunk) => {
    const parts: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (kept > 0) {
        const part = chunk.subarray(at, at + kept);
        parts.push(part);
        kept -= part.length;
        at += part.length;
        continue;
      }
      if (cut > 0) {
        const skipped = Math.min(cut, chunk.length - at);
        cut -= skipped;
        at += skipped;
        continue;
      }
      head.push(chunk[at++]!);
      if (head.length < 2 || (isContinued(head) && head.length <= DIGITS_MAX)) continue;
      // The library says that the head is wrong, and ends the connection.
      const length = isContinued(head) ? Number.POSITIVE_INFINITY : lengthOf(head);
      cut = isContinued(head) ? 0 : Math.max(0, length - bytesMax);
      kept = length - cut;
      parts.push(Uint8Array.from(cut > 0 ? [head[0]!, ...lengthDigits(bytesMax)] : head));
      head = [];
    }
    return parts;
  };
}

const DIGITS_MAX = 4;

/** The eighth bit of a digit says that another one follows. */
function isContinued(head: readonly number[]): boolean {
  return head.at(-1)! >= 0x80;
}

/** Digits of seven bits, the lowest first. */
function lengthOf([, ...digits]: readonly number[]): number {
  return digits.reduce((sum, digit, index) => sum + (digit & 0x7f) * 0x80 ** index, 0);
}

function lengthDigits(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...lengthDigits(Math.floor(length / 0x80))];
}
