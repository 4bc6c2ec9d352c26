import { cborMajor } from '../cbor/cbor-head.ts';
import {
  createWriter,
  writeBigint,
  writeHead,
  writeNumber,
  writeSimple,
  writeText,
  written,
} from '../cbor/cbor-writer.ts';
import type { ReadBody } from '../contract/messages.ts';
import type { Offset } from '../contract/offset.ts';
import { limits } from '../contract/wire-limits.ts';

/** The largest size of an answer without its messages. */
const READ_HEAD_BYTES_MAX = 512;
/** Most heads fit into this size, so the writer rarely has to enlarge its buffer. */
const READ_HEAD_BYTES = 256;
/** The members that every answer has. */
const MEMBERS_ALWAYS = 6;

/**
 * The largest size of the messages in one REST answer, so that the body stays within the contract's limit.
 */
export const READ_MESSAGES_BYTES_MAX = limits.readBytesMax - READ_HEAD_BYTES_MAX;

/** An answer without its messages. A socket frame also has its subscription and its start. */
type ReadBodyHead = Omit<ReadBody, 'messages'> & {
  requestId?: string;
  /** The `nextOffset` of the previous frame, or of the answer to the subscription. */
  fromOffset?: Offset;
};

/**
 * Encodes an answer up to the array head of `messages`, its last member. Exactly `count` stored messages must
 * follow, as they are stored. So the service sends a batch without decoding or encoding its messages.
 */
export function encodeReadHead(head: ReadBodyHead): Uint8Array {
  const writer = createWriter(READ_HEAD_BYTES);
  const members =
    MEMBERS_ALWAYS +
    (head.requestId === undefined ? 0 : 1) +
    (head.fromOffset === undefined ? 0 : 1) +
    (head.clamped === undefined ? 0 : 1);
  writeHead(writer, cborMajor.map, members);
  if (head.requestId !== undefined) {
    writeText(writer, 'requestId');
    writeText(writer, head.requestId);
  }
  if (head.fromOffset !== undefined) {
    writeText(writer, 'fromOffset');
    writeBigint(writer, head.fromOffset);
  }
  writeText(writer, 'nextOffset');
  writeBigint(writer, head.nextOffset);
  writeText(writer, 'count');
  writeNumber(writer, head.count);
  writeText(writer, 'upToDate');
  writeSimple(writer, head.upToDate);
  writeText(writer, 'earliestOffset');
  writeBigint(writer, head.earliestOffset);
  writeText(writer, 'epoch');
  writeText(writer, head.epoch);
  if (head.clamped !== undefined) {
    writeText(writer, 'clamped');
    writeText(writer, head.clamped);
  }
  writeText(writer, 'messages');
  writeHead(writer, cborMajor.array, head.count);
  return written(writer);
}
