/** The payload of an event, as the bytes of a REST answer. */
export interface SocketPayload {
  bytes: Uint8Array;
  /** Items of CBOR can be joined, and lines of JSON can. `alone` cannot be joined. */
  kind: 'cbor' | 'json-line' | 'alone';
}

/** The members that servers use to wrap binary content. */
const wrappers = ['data', 'payload', 'body', 'message', 'bytes', 'buffer', 'cbor'];
const positions: ReadonlySet<string> = new Set([
  'offset',
  'nextOffset',
  'next_offset',
  'cursor',
  'earliestOffset',
  'earliest_offset',
]);

/**
 * Reads the payload of an event in any form that servers use: binary, base64 or JSON as text, an object that
 * wraps binary content, or a plain object.
 * @returns undefined if it is empty, as in an acknowledgement without content, or a text that is neither JSON
 *   nor base64
 * @throws RangeError if an offset is a number beyond 2^53, because its digits are lost
 */
export function readPayload(payload: unknown): SocketPayload | undefined {
  if (typeof payload === 'string') return readText(payload);
  if (typeof payload !== 'object' || payload === null) return undefined;
  const binary = binaryOf(payload) ?? wrappers.map((name) => binaryOf(memberOf(payload, name))).find(Boolean);
  if (binary !== undefined) return { bytes: binary, kind: kindOf(binary) };
  return { bytes: Buffer.from(JSON.stringify(payload, keepingDigits)), kind: 'json-line' };
}

function readText(text: string): SocketPayload | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) {
    const bytes = Buffer.from(trimmed);
    return { bytes, kind: kindOf(bytes) };
  }
  if (!/^[\w+/-]+={0,2}$/.test(trimmed)) return undefined;
  const bytes = Buffer.from(trimmed, 'base64');
  return { bytes, kind: kindOf(bytes) };
}

function binaryOf(value: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  // A Buffer has this form after JSON.
  const listed = memberOf(value, 'type') === 'Buffer' ? memberOf(value, 'data') : undefined;
  return Array.isArray(listed) ? Uint8Array.from(listed) : undefined;
}

function kindOf(bytes: Uint8Array): SocketPayload['kind'] {
  const isJson = bytes[0] === 0x7b || bytes[0] === 0x5b;
  if (!isJson) return 'cbor';
  return bytes.includes(0x0a) ? 'alone' : 'json-line';
}

function keepingDigits(key: string, value: unknown): unknown {
  if (typeof value === 'number' && positions.has(key) && !Number.isSafeInteger(value)) {
    throw new RangeError(`${key} is a number that has lost digits; the server must send it as text`);
  }
  return value;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
