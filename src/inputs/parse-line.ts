import type { FieldValue } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { clipText } from '../lib/clip-text.ts';
import { isDecimalNumber } from '../lib/decimal-number.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';

/** A point of the Influx line protocol. */
export interface LinePoint {
  kind: 'point';
  measurement: string;
  tags: ReadonlyMap<string, string>;
  fields: ReadonlyMap<string, FieldValue>;
  /** Undefined if the line has no time. */
  timeMs: UtcMs | undefined;
}

type ParsedLine = LinePoint | { kind: 'blank' } | { kind: 'problem'; message: string };

/** Digits of a time below a millisecond, or the milliseconds of its unit. */
const precisions = {
  ns: { cut: 6 },
  n: { cut: 6 },
  us: { cut: 3 },
  u: { cut: 3 },
  ms: { unitMs: 1 },
  s: { unitMs: SECOND_MS },
  m: { unitMs: MINUTE_MS },
  h: { unitMs: HOUR_MS },
} as const satisfies Record<string, { cut: number } | { unitMs: number }>;
export type Precision = keyof typeof precisions;

/** True for a unit of times that InfluxDB 1 or 2 knows. */
export function isPrecision(text: string): text is Precision {
  return Object.hasOwn(precisions, text);
}

const SPACE = 0x20;
const TAB = 0x09;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HASH = 0x23;

/**
 * Reads one line: a measurement and its tags, fields, and a time, divided by spaces. After a backslash, a
 * comma, an equals sign or a space is a part of a name, and a quote or a backslash is a part of a text. Every
 * other backslash is itself. This reader is ours: libraries of InfluxDB write lines and do not read them, and
 * a sender must learn what is wrong with a line.
 * @param line without its end
 */
export function parseLine(line: string, precision: Precision): ParsedLine {
  const scan: Scan = { line, at: 0 };
  skipSpace(scan);
  if (scan.at >= line.length || line.charCodeAt(scan.at) === HASH) return { kind: 'blank' };
  try {
    const measurement = scanName(scan, COMMA, SPACE);
    if (measurement === '') throw new LineError('missing measurement');
    const tags = scanTags(scan);
    skipSpace(scan);
    if (scan.at >= line.length) throw new LineError('missing fields');
    const fields = scanFields(scan);
    skipSpace(scan);
    return { kind: 'point', measurement, tags, fields, timeMs: scanTime(scan, precision) };
  } catch (error) {
    if (error instanceof LineError) return { kind: 'problem', message: error.message };
    throw error;
  }
}

class LineError extends Error {}

interface Scan {
  line: string;
  at: number;
}

function skipSpace(scan: Scan): void {
  const { line } = scan;
  for (let code = line.charCodeAt(scan.at); code === SPACE || code === TAB; code = line.charCodeAt(scan.at))
    scan.at++;
}

/** Reads a name up to one of two characters that are not escaped, or to the end. */
function scanName(scan: Scan, first: number, second: number): string {
  const { line } = scan;
  const start = scan.at;
  let hasEscape = false;
  for (; scan.at < line.length; scan.at++) {
    const code = line.charCodeAt(scan.at);
    if (code === BACKSLASH && isEscapable(line.charCodeAt(scan.at + 1))) {
      hasEscape = true;
      scan.at++;
    } else if (code === first || code === second) break;
  }
  const text = line.slice(start, scan.at);
  return hasEscape ? text.replace(/\\([,= ])/g, '$1') : text;
}

function isEscapable(code: number): boolean {
  return code === COMMA || code === EQUALS || code === SPACE;
}

/** Reads `,key=value` as often as it comes. */
function scanTags(scan: Scan): Map<string, string> {
  const { line } = scan;
  const tags = new Map<string, string>();
  while (line.charCodeAt(scan.at) === COMMA) {
    scan.at++;
    const key = scanKey(scan, 'tag');
    const value = scanName(scan, COMMA, SPACE);
    if (value === '') throw new LineError(`missing value of tag "${clipText(key)}"`);
    if (tags.has(key)) throw new LineError(`duplicate tag "${clipText(key)}"`);
    tags.set(key, value);
  }
  return tags;
}

/** Reads a key and its equals sign. */
function scanKey(scan: Scan, what: 'tag' | 'field'): string {
  const key = scanName(scan, EQUALS, SPACE);
  if (key === '') throw new LineError(`missing ${what} key`);
  if (scan.line.charCodeAt(scan.at) !== EQUALS)
    throw new LineError(`missing value of ${what} "${clipText(key)}"`);
  scan.at++;
  return key;
}

function scanFields(scan: Scan): Map<string, FieldValue> {
  const { line } = scan;
  const fields = new Map<string, FieldValue>();
  for (;;) {
    const key = scanKey(scan, 'field');
    if (fields.has(key)) throw new LineError(`duplicate field "${clipText(key)}"`);
    fields.set(key, line.charCodeAt(scan.at) === QUOTE ? scanText(scan, key) : scanValue(scan, key));
    if (scan.at >= line.length) return fields;
    const code = line.charCodeAt(scan.at);
    if (code === SPACE || code === TAB) return fields;
    if (code !== COMMA) throw new LineError(`unexpected text after field "${clipText(key)}"`);
    scan.at++;
  }
}

/** Reads a text in quotes. */
function scanText(scan: Scan, key: string): string {
  const { line } = scan;
  const start = ++scan.at;
  let hasEscape = false;
  for (; scan.at < line.length; scan.at++) {
    const code = line.charCodeAt(scan.at);
    if (code === QUOTE) {
      const text = line.slice(start, scan.at++);
      return hasEscape ? text.replace(/\\(["\\])/g, '$1') : text;
    }
    const next = line.charCodeAt(scan.at + 1);
    if (code === BACKSLASH && (next === QUOTE || next === BACKSLASH)) {
      hasEscape = true;
      scan.at++;
    }
  }
  throw new LineError(`unbalanced quotes in field "${clipText(key)}"`);
}

const INTEGER = /^-?\d{1,20}i$/;
const UNSIGNED = /^\d{1,20}u$/;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;
const booleans: Readonly<Record<string, boolean>> = {
  t: true,
  T: true,
  true: true,
  True: true,
  TRUE: true,
  f: false,
  F: false,
  false: false,
  False: false,
  FALSE: false,
};

/** Reads a number, an integer or a truth value. */
function scanValue(scan: Scan, key: string): FieldValue {
  const { line } = scan;
  const start = scan.at;
  for (; scan.at < line.length; scan.at++) {
    const code = line.charCodeAt(scan.at);
    if (code === COMMA || code === SPACE || code === TAB) break;
  }
  const text = line.slice(start, scan.at);
  if (text === '') throw new LineError(`missing value of field "${clipText(key)}"`);
  if (isDecimalNumber(text)) {
    const value = Number(text);
    if (Number.isFinite(value)) return value;
  }
  if (Object.hasOwn(booleans, text)) return booleans[text]!;
  if (INTEGER.test(text)) {
    const value = integerOf(text, INT64_MIN, INT64_MAX);
    if (value !== undefined) return value;
  }
  if (UNSIGNED.test(text)) {
    const value = integerOf(text, 0n, UINT64_MAX);
    if (value !== undefined) return value;
  }
  throw new LineError(`invalid value "${clipText(text)}" of field "${clipText(key)}"`);
}

function integerOf(text: string, min: bigint, max: bigint): number | bigint | undefined {
  const number = Number(text.slice(0, -1));
  // JSON and CBOR have no -0 as an integer.
  if (Number.isSafeInteger(number)) return number + 0;
  const value = BigInt(text.slice(0, -1));
  return value >= min && value <= max ? value : undefined;
}

/** Reads the time up to the end of the line. */
function scanTime({ line, at }: Scan, precision: Precision): UtcMs | undefined {
  const text = line.slice(at).trimEnd();
  if (text === '') return undefined;
  if (!/^-?\d{1,19}$/.test(text)) throw new LineError(`invalid time "${clipText(text)}"`);
  const how: { cut: number } | { unitMs: number } = precisions[precision];
  const ms = 'cut' in how ? Number(text.slice(0, -how.cut)) : Number(text) * how.unitMs;
  if (text.startsWith('-') || ms > limits.instantMsMax)
    throw new LineError(`the time "${clipText(text)}" is not within 1970 to 9999`);
  return ms;
}
