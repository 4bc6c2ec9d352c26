/**
 * Converts plain data to JSON without loss: integers keep all digits, bytes become base64 text, and NaN and
 * the infinities become text. Halves of surrogate pairs become U+FFFD, because JSON readers would refuse the
 * whole text.
 */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed());
  if (typeof value === 'number')
    return Number.isFinite(value) ? JSON.stringify(value) : JSON.stringify(String(value));
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'object' || value === null) return 'null';
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key.toWellFormed())}:${jsonText(member)}`,
  );
  return `{${members.join(',')}}`;
}

/** For `JSON.stringify`: 64-bit integers become decimal text. */
export function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * Parses JSON.
 * @returns undefined if the text is not JSON. A schema then refuses it like any other wrong value
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const LONG_DIGITS = /\d{16}/;

/**
 * Parses JSON. Integers beyond 2^53 become bigints.
 * @throws SyntaxError
 */
export function parseJsonExact(text: string): unknown {
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? '';
    return /^-?\d+$/.test(source) ? BigInt(source.slice(0, INTEGER_CHARACTERS_MAX)) : value;
  });
}

/**
 * A longer integer is beyond 64 bits. Converting all of its digits could take seconds, so only its beginning
 * is read.
 */
const INTEGER_CHARACTERS_MAX = 64;

/** The nesting depth of JSON text, computed before parsing. */
export function jsonDepth(text: string): number {
  return measureJson(text).depth;
}

/** The size of JSON text, computed before parsing. */
interface JsonMeasure {
  /** The nesting depth of arrays and objects. */
  depth: number;
  /** The number of arrays and objects. */
  containers: number;
  /** The items or members of the outermost one. */
  outermost: number;
  /** The largest number of items or members. */
  widest: number;
  /** The members of all objects. */
  members: number;
}

const COUNTED_DEPTH_MAX = 64;

export function measureJson(text: string): JsonMeasure {
  let depth = 0;
  let deepest = 0;
  let containers = 0;
  let outermost = 0;
  let widest = 0;
  let members = 0;
  let isQuoted = false;
  /** Commas in each open container, by depth. */
  const commas = new Uint32Array(COUNTED_DEPTH_MAX);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isQuoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isQuoted = false;
    } else if (code === QUOTE) isQuoted = true;
    else if (code === COLON) members++;
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      containers++;
      deepest = Math.max(deepest, ++depth);
      commas[depth] = 0;
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth--;
    else if (code === COMMA) {
      const items = ++commas[depth]! + 1;
      if (items > widest) widest = items;
      if (depth === 1) outermost = items;
    }
  }
  return { depth: deepest, containers, outermost, widest, members };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
