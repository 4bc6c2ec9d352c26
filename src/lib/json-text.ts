/**
 * Plain data as JSON text without loss: integers keep all their digits, bytes are base64 text, numbers that JSON does
 * not have (NaN, the infinities) are their names as text. Half of a surrogate pair, which no character is, becomes U+FFFD: a JSON reader would
 * refuse the whole text.
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

/** For `JSON.stringify`, which has no integers of 64 bits: they become decimal text. */
export function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

const LONG_DIGITS = /\d{16}/;

/**
 * Parses JSON so that integers beyond 2^53 stay what they are, as bigints.
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

/** Of a longer integer only its head is kept: it is far beyond 64 bits either way, and reading it whole takes seconds. */
const INTEGER_CHARACTERS_MAX = 64;

/** How deep arrays and objects are nested in JSON text, known before anything is built of it. */
export function jsonDepth(text: string): number {
  return measureJson(text).depth;
}

/** What JSON text comes to, known before anything is built of it. */
export interface JsonMeasure {
  /** How deep arrays and objects are nested. */
  depth: number;
  /** How many there are. */
  containers: number;
  /** What the outermost one holds: items or members. */
  outermost: number;
  /** The most that any one holds. */
  widest: number;
  /** Members of all objects. */
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
  let quoted = false;
  /** Commas in each container that is open, by its depth. */
  const commas = new Uint32Array(COUNTED_DEPTH_MAX);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (quoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
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
