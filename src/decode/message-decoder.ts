import { decodeCbor } from '../cbor/cbor-codec.ts';
import { cborInitial, cborMajor, headArgument, headLength, majorOf } from '../cbor/cbor-head.ts';
import { type CborBytes, cborBytes, checkItem, firstItemOf, skipItem } from '../cbor/check-cbor.ts';
import { decodeCheckedItem } from '../cbor/decode-item.ts';
import { MalformedError } from '../cbor/malformed-error.ts';
import { appendMessage } from './append-message.ts';
import { clearColumns, createColumns } from './columns-buffer.ts';
import {
  type BodyFacts,
  bodyFromJson,
  bodyOf,
  type DecodedBody,
  MESSAGES_PER_BODY_MAX,
  messageLists,
  notAnAnswer,
  readMembers,
  rootKind,
  tooManyMessages,
} from './decode-body.ts';
import { beginBody, createFastReader, type FastReader, readMessage } from './fast-reader.ts';
import type { MessageColumns, NameTable } from './message-columns.ts';

export type { BodyFacts, DecodedBody };

export interface MessageDecoder {
  /**
   * Decodes the answer of a read, of our server or another one: CBOR, a CBOR sequence or JSON, as its bytes
   * show. The columns belong to the decoder and are valid until the next call.
   * @throws MalformedError if the answer cannot be read; single bad messages are in `rejected` instead
   */
  decode(body: Uint8Array, options?: { defaultTable?: string | undefined }): DecodedBody;
}

/**
 * Creates a decoder that turns bytes into columns in one pass. `readMessage` reads messages of our own
 * server. All other messages are decoded one by one and read by `parseMessage`. Ids of `names` must not
 * change while the decoder is in use.
 */
export function createMessageDecoder(names: NameTable): MessageDecoder {
  const columns = createColumns();
  const fast = createFastReader(names, columns);
  return {
    decode(body, options = {}) {
      const { defaultTable } = options;
      clearColumns(columns);
      if (looksLikeJson(body)) return bodyFromJson(body, names, { defaultTable, columns });
      // A Buffer becomes a Uint8Array, because the hot loop is faster with one kind of array.
      const bytes = new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
      beginBody(fast, bytes);
      return walkBody({ cbor: cborBytes(bytes, { plainTags: true }), columns, fast, names, defaultTable });
    },
  };
}

/** True if the body begins like JSON. No answer in CBOR begins with these bytes. */
function looksLikeJson(body: Uint8Array): boolean {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  while (body[at] === 0x20 || body[at] === 0x09 || body[at] === 0x0a || body[at] === 0x0d) at++;
  return body[at] === 0x7b || body[at] === 0x5b;
}

const SELF_DESCRIBED = 55799;

interface Walk {
  cbor: CborBytes;
  columns: MessageColumns;
  fast: FastReader;
  names: NameTable;
  defaultTable: string | undefined;
}

function walkBody(walk: Walk): DecodedBody {
  const { bytes } = walk.cbor;
  const merged = new Map<string, unknown>();
  let at = 0;
  while (at < bytes.length) {
    const start = afterSelfDescription(walk.cbor, at);
    const major = start < bytes.length ? majorOf(bytes[start]!) : undefined;
    if (major === cborMajor.array) at = walkMessages(walk, start);
    else if (major === cborMajor.map) at = walkRootMap(walk, start, merged);
    else {
      at = skipItem(walk.cbor, start);
      if (start === 0 && at === bytes.length) throw notAnAnswer(0);
      at = walkMessage(walk, start);
    }
  }
  return bodyOf(merged, walk.columns);
}

/** Skips tags that only mark their content as CBOR. */
function afterSelfDescription(cbor: CborBytes, start: number): number {
  const { bytes, view } = cbor;
  let at = start;
  while (at < bytes.length && majorOf(bytes[at]!) === cborMajor.tag) {
    const after = at + headLength(bytes[at]!);
    if (after > bytes.length || headArgument(view, at) !== SELF_DESCRIBED) break;
    at = after;
  }
  return at;
}

/** Reads an answer, or one message of a sequence. It reads the list of messages as soon as it finds it. */
function walkRootMap(walk: Walk, start: number, merged: Map<string, unknown>): number {
  const { cbor, columns } = walk;
  const { bytes } = cbor;
  const mark = markOf(columns);
  const members = new Map<string, unknown>();
  let list = Number.POSITIVE_INFINITY;
  let at = firstItemOf(cbor, start);
  for (let left = headArgument(cbor.view, start); left !== 0; left--) {
    if (left < 0 && bytes[at] === cborInitial.break) {
      at++;
      break;
    }
    const keyAt = at;
    at = checkItem(cbor, at);
    const key =
      majorOf(bytes[keyAt]!) === cborMajor.text ? (decodeCheckedItem(cbor, keyAt) as string) : undefined;
    if (key === undefined) throw new MalformedError('a map key that is not text', keyAt);
    if (members.has(key)) throw new MalformedError('the same key twice in a map', keyAt);
    const valueAt = at;
    const rank = messageLists.indexOf(key);
    const listAt = rank < 0 ? at : afterSelfDescription(cbor, at);
    if (rank >= 0 && listAt < bytes.length && majorOf(bytes[listAt]!) === cborMajor.array) {
      if (rank < list) {
        list = rank;
        backTo(columns, mark);
        at = walkMessages(walk, listAt);
      } else at = skipItem(cbor, at);
      members.set(key, undefined);
    } else if (readMembers.has(key)) {
      at = checkItem(cbor, at);
      members.set(key, decodeCheckedItem(cbor, valueAt));
    } else {
      at = skipItem(cbor, at);
      members.set(key, undefined);
    }
  }
  const kind = rootKind(members, list < messageLists.length);
  if (kind === 'answer') {
    for (const [key, value] of members) if (readMembers.has(key)) merged.set(key, value);
  } else if (kind === 'unknown' && start === 0 && at === bytes.length) throw notAnAnswer(start);
  else walkMessage(walk, start);
  return at;
}

function walkMessages(walk: Walk, start: number): number {
  const { cbor } = walk;
  const { bytes } = cbor;
  let at = firstItemOf(cbor, start);
  for (let left = headArgument(cbor.view, start); left !== 0; left--) {
    if (left < 0 && bytes[at] === cborInitial.break) return at + 1;
    at = walkMessage(walk, at);
  }
  return at;
}

function walkMessage(walk: Walk, at: number): number {
  const { cbor, columns, fast, names, defaultTable } = walk;
  if (columns.count + columns.rejected.length >= MESSAGES_PER_BODY_MAX) throw tooManyMessages(at);
  const fastEnd = readMessage(fast, at);
  if (fastEnd >= 0) return fastEnd;
  const end = skipItem(cbor, at);
  const bytes = cbor.bytes.subarray(at, end);
  let message: unknown;
  try {
    message = decodeCbor(bytes, { plainTags: true });
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    columns.rejected.push({
      offset: undefined,
      reason: 'malformed',
      detail: error.message,
      bytes: bytes.slice(),
    });
    return end;
  }
  appendMessage(columns, names, message, bytes, defaultTable);
  return end;
}

interface Mark {
  count: number;
  rejected: number;
}

function markOf(columns: MessageColumns): Mark {
  return { count: columns.count, rejected: columns.rejected.length };
}

function backTo(columns: MessageColumns, mark: Mark): void {
  for (const index of columns.other.keys()) if (index >= mark.count) columns.other.delete(index);
  columns.count = mark.count;
  columns.rejected.length = mark.rejected;
}
