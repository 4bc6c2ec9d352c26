import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FieldValue } from '../../contract/messages.ts';
import { streamCsv } from '../../foreign-table/parse-csv.ts';
import { isDecimalNumber } from '../../lib/decimal-number.ts';
import { errorCode, errorMessage, InputError } from '../../lib/errors.ts';
import { parseInstant, type UtcMs } from '../../lib/time.ts';

/** A row of the readings of a case. An empty cell is null. */
interface CsvReading {
  deviceId: string | undefined;
  source: string | undefined;
  eventTimeMs: UtcMs;
  data: Record<string, FieldValue>;
}

const PART_EVERY_ROWS = 1_000;

/** Columns that are not fields, with other common names. */
const known = {
  event_time: ['eventtime', 'time', 'timestamp', 'datetime'],
  device_id: ['deviceid', 'device'],
  source: ['source'],
} as const;

/**
 * Reads the rows of a CSV file in their order.
 * @param fields that the energy streams read. A file without any of them has no energy.
 * @param onPart called with the part of the file that is read, 0 to 1
 * @throws InputError with the file and the line
 */
export async function* readCaseCsv(
  path: string,
  fields: readonly string[],
  onPart?: (part: number) => void,
): AsyncGenerator<CsvReading> {
  const bytes = createReadStream(path);
  const { size } = await stat(path);
  const text: Readable = path.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes;
  let hasColumns = false;
  let rows = 0;
  const columns = (names: string[]) => {
    hasColumns = true;
    return checkColumns(path, names, fields);
  };
  try {
    for await (const { record, info } of streamCsv([bytes, text], columns)) {
      rows += 1;
      if (rows % PART_EVERY_ROWS === 0 && size > 0) onPart?.(Math.min(1, bytes.bytesRead / size));
      yield readingOf(path, record, info.lines);
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(path, [{ path: '', message: explain(error) }]);
  }
  if (!hasColumns)
    throw new InputError(path, [
      { path: '', message: 'is empty; its first line must name the columns, event_time among them' },
    ]);
}

function checkColumns(path: string, names: string[], fields: readonly string[]): string[] {
  const found = `its columns are ${names.map((name) => JSON.stringify(name)).join(', ')}`;
  const problems = Object.entries(known).flatMap(([name, others]) => {
    if (names.includes(name)) return [];
    const like = names.find((other) =>
      others.includes(other.toLowerCase().replaceAll(/[^a-z]/g, '') as never),
    );
    if (like !== undefined && !fields.includes(like))
      return [`has no column "${name}", but ${JSON.stringify(like)}; call it "${name}"`];
    return name === 'event_time' ? [`has no column "event_time"; ${found}`] : [];
  });
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) problems.push(`has two columns "${twice}"`);
  if (problems.length === 0 && !fields.some((field) => names.includes(field)))
    problems.push(`has no column for any field of the energy streams (${fields.join(', ')}); ${found}`);
  if (problems.length > 0)
    throw new InputError(
      path,
      problems.map((message) => ({ path: 'line 1', message })),
    );
  return names;
}

function explain(error: unknown): string {
  const code = errorCode(error);
  if (code === 'Z_DATA_ERROR') return `cannot be unpacked: is it gzip? (${errorMessage(error)})`;
  if (code === 'Z_BUF_ERROR') return 'ends in the middle: the gzip file is cut off';
  return errorMessage(error);
}

function readingOf(path: string, record: Record<string, string>, line: number): CsvReading {
  const { event_time = '', device_id, source, ...fields } = record;
  const eventTimeMs = parseInstant(event_time);
  if (eventTimeMs === undefined) throw badInstant(path, `line ${line}, event_time`, event_time);
  const data = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, fieldValue(text)]));
  return { deviceId: device_id || undefined, source: source || undefined, eventTimeMs, data };
}

/** Converts plain decimal numbers. Other text stays text, and the roll-up judges it. */
function fieldValue(text: string): FieldValue {
  if (text === '') return null;
  return isDecimalNumber(text) && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** The error for an invalid time. */
export function badInstant(what: string, path: string, text: string): InputError {
  const message =
    text === ''
      ? 'is empty; every reading needs its time'
      : `"${text.slice(0, 40)}" is not an instant; use ISO 8601 with a zone, such as 2026-11-20T13:05:00Z`;
  return new InputError(what, [{ path, message }]);
}
