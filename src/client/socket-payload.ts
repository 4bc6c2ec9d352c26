/** What came with an event, as the bytes that a REST answer could have had. */
export interface SocketPayload {
  bytes: Uint8Array;
  /** Items of CBOR may be put one after another, and so may lines of JSON; what is neither stands alone. */
  kind: 'cbor' | 'json-line' | 'alone';
}

/** Members under which servers wrap binary content, beside members of their own. */
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
 * Reads the payload of an event in any form that servers give it: binary, base64 or JSON in a text, an object that wraps
 * binary content, or plain objects.
 * @returns undefined where there is nothing in it, as in a bare acknowledgement
 * @throws RangeError where an offset has come as a number that cannot hold its digits: they are lost
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
  // How a Buffer looks that went through JSON.
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
    throw new RangeError(`${key} came as a number that has lost its digits; the server must send it as text`);
  }
  return value;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
