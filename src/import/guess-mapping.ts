import { basename } from 'node:path';
import type { WorkgroupConfig } from '../config/config.ts';
import { zodProblems } from '../config/zod-problems.ts';
import { tableNameSchema } from '../contract/messages.ts';
import { isUuid } from '../decode/parse-values.ts';
import { guessTimeFormat, type TimeFormatGuess } from '../foreign-table/guess-time-format.ts';
import { guessNumberFormat, isNumberIn } from '../foreign-table/number-format.ts';
import { InputError } from '../lib/errors.ts';
import { inWords } from '../lib/input-words.ts';
import { derivedId, LONE_DEVICE } from './import-devices.ts';
import { type Mapping, type MappingInput, mappingSchema, usualNullTexts } from './import-mapping.ts';
import type { SourceFile } from './source-file.ts';

/** The first rows of a file as text. */
export interface Sample extends Pick<SourceFile, 'format' | 'columns' | 'csv'> {
  rows: ReadonlyArray<ReadonlyArray<string | null>>;
}

interface Column {
  name: string;
  type: string;
  /** Its cells that are not empty. */
  texts: readonly string[];
}

const deviceNames =
  /^(device|inverter|serial|serien|meter|logger|plant|wechselrichter|zähler)?[ _-]?(id|uuid|sn|no|nr|number|serial|nummer|name)?$|^entity[ _]id$/i;
const sourceNames = /^(source|channel|mppt|string|phase|circuit|quelle|kanal)$/i;
const fieldNames =
  /^(field|parameter|metric|measurement|variable|name|key|register|obis|point|sensor|entity[ _]id)$/i;
const valueNames = /^(value|wert|reading|val|state)$/i;
const countNames = /^(id|index|row|no|nr|#|unnamed.*|)$/i;
const timeNames = /time|zeit|date|datum|^ts$|heure|fecha|hora/i;
const clockPattern = /^\d{1,2}:\d{2}(:\d{2})?$/;

/**
 * Guesses the meaning of the columns of a file from their names and the first rows.
 * @throws InputError if no column looks like a time, none looks like a number, or a name or text of the
 *   file cannot be in a mapping
 */
export function guessMapping(
  path: string,
  sample: Sample,
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices' | 'timezone' | 'energyStreams'>,
  table: string,
): Mapping {
  const columns = sample.columns.map(
    ({ name, type }, index): Column => ({
      name,
      type,
      texts: sample.rows
        .map((row) => row[index]?.trim() ?? '')
        .filter((text) => !(usualNullTexts as readonly string[]).includes(text)),
    }),
  );
  const time = findTime(columns);
  if (!time) {
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    throw cannotGuess(path, `${describeTimes(columns)}; it has ${names.slice(0, 300)}`);
  }
  let left = columns.filter(({ name }) => !time.columns.includes(name));
  const { unclear: _, ...numberFormat } = guessNumberFormat(left.flatMap(({ texts }) => texts));
  const isNumeric = ({ texts }: Column) =>
    texts.length > 0 && texts.filter((text) => isNumberIn(text, numberFormat)).length > texts.length / 2;
  const take = (column: Column | undefined) => {
    left = left.filter((one) => one !== column);
    return column;
  };
  const long = findLong(left, isNumeric);
  for (const column of long ?? []) take(column);
  const device = take(left.find((column) => isDevice(column) && !(isNumeric(column) && isMeasured(column))));
  const source = take(left.find(({ name, texts }) => sourceNames.test(name) && texts.length > 0));
  const streams = workgroup.energyStreams.filter((stream) => stream.table === tableNameSchema.parse(table));
  const fields = long ? undefined : guessFields(left, isNumeric, streams);
  if (fields && Object.keys(fields).length === 0) throw cannotGuess(path, 'no column looks like a number');
  const guess = {
    format: sample.format,
    ...(sample.csv && { csv: sample.csv }),
    time: {
      column: time.columns,
      format: time.guess.format,
      ...(!time.guess.hasZone && { zone: workgroup.timezone }),
    },
    device: device ? deviceMapping(device, workgroup) : { id: loneDevice(workgroup) },
    ...(source && { source: { column: source.name } }),
    ...(long ? { long: { field: long[0].name, value: long[1].name } } : { fields }),
    ...numberFormat,
  } satisfies MappingInput;
  const mapping = mappingSchema.safeParse(guess, inWords);
  if (!mapping.success) throw new InputError(`the guess for ${basename(path)}`, zodProblems(mapping.error));
  return mapping.data;
}

function cannotGuess(path: string, message: string): InputError {
  return new InputError(basename(path), [
    { path: '', message: `${message}; write a mapping file (see "wattline help import")` },
  ]);
}

function findTime(columns: readonly Column[]): { columns: string[]; guess: TimeFormatGuess } | undefined {
  const typed = columns.find(({ type }) => type.startsWith('TIMESTAMP'));
  if (typed) {
    const hasZone = typed.type === 'TIMESTAMP WITH TIME ZONE';
    return { columns: [typed.name], guess: { format: 'iso', share: 1, hasZone } };
  }
  const timeColumns = columns
    .map((column) => ({ column, guess: guessTimeFormat(column.texts), isNamed: timeNames.test(column.name) }))
    .filter(({ guess, isNamed }) => guess && guess.share > 0.9 && (isNamed || !isEpoch(guess)))
    .sort(
      (left, right) =>
        Number(right.isNamed) - Number(left.isNamed) || right.column.texts.length - left.column.texts.length,
    );
  const [best] = timeColumns;
  if (!best?.guess) return undefined;
  const clock = columns.find(
    ({ texts }) => texts.length > 0 && texts.every((text) => clockPattern.test(text)),
  );
  if (clock && !/[:T]/.test(best.column.texts[0]!)) {
    const joined = best.column.texts.map((text, row) => `${text} ${clock.texts[row] ?? ''}`);
    const guess = guessTimeFormat(joined);
    if (guess) return { columns: [best.column.name, clock.name], guess };
  }
  return { columns: [best.column.name], guess: best.guess };
}

/** Explains why no column is the time. */
function describeTimes(columns: readonly Column[]): string {
  const guesses = columns
    .filter(({ name }) => timeNames.test(name))
    .map(({ name, texts }) => ({ name, ...guessTimeFormat(texts) }));
  const [best] = guesses.sort((left, right) => (right.share ?? 0) - (left.share ?? 0));
  if (best?.share === undefined) return 'no column looks like a time';
  return `column "${best.name}" is a time (${best.format}) only in ${Math.round(best.share * 100)} % of the rows; it may have several formats`;
}

function isEpoch({ format }: TimeFormatGuess): boolean {
  return format.endsWith('seconds');
}

function findLong(
  columns: readonly Column[],
  isNumeric: (column: Column) => boolean,
): [field: Column, value: Column] | undefined {
  const value = columns.find((column) => valueNames.test(column.name) && isNumeric(column));
  const field = columns.find(
    (column) => column !== value && fieldNames.test(column.name) && !isNumeric(column),
  );
  return value && field && new Set(field.texts).size < Math.max(2, field.texts.length)
    ? [field, value]
    : undefined;
}

function isDevice({ name, texts }: Column): boolean {
  if (texts.length === 0) return false;
  if (texts.every((text) => isUuid(text))) return true;
  return name !== '' && deviceNames.test(name) && !countNames.test(name);
}

/**
 * True for numbers with fractions, or with a new value in nearly every row. A column "Zähler" is then a
 * register and not a meter.
 */
function isMeasured({ texts }: Column): boolean {
  return texts.some((text) => /[.,]/.test(text)) || new Set(texts).size > Math.max(2, texts.length / 2);
}

function deviceMapping({ name, texts }: Column, workgroup: Pick<WorkgroupConfig, 'id' | 'devices'>) {
  const configured = new Set(workgroup.devices.map((device) => device.name));
  const unknown = [...new Set(texts)].filter((text) => !isUuid(text) && !configured.has(text));
  if (unknown.length === 0) return { column: name };
  const names = Object.fromEntries(
    unknown.slice(0, 100).map((text) => [text, derivedId(workgroup.id, text)]),
  );
  return { column: name, names, unknown: 'derive' as const };
}

function loneDevice({ devices }: Pick<WorkgroupConfig, 'devices'>): string {
  return devices.length === 1 ? devices[0]!.id : LONE_DEVICE;
}

/**
 * Columns of numbers. A name of the configuration is used if it is the same apart from case and punctuation.
 */
function guessFields(
  columns: readonly Column[],
  isNumeric: (column: Column) => boolean,
  streams: WorkgroupConfig['energyStreams'],
): Record<string, string> {
  const plain = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  const configured = new Map(
    streams
      .flatMap(({ field, unitField }) => [field, unitField].filter((name) => name !== undefined))
      .map((name) => [plain(name), name]),
  );
  const fields: Record<string, string> = {};
  for (const column of columns) {
    const known = configured.get(plain(column.name));
    if (known === undefined && (!isNumeric(column) || countNames.test(column.name))) continue;
    const field = known ?? column.name.slice(column.name.lastIndexOf('/') + 1).slice(0, 128);
    if (field !== '' && !Object.values(fields).includes(field)) fields[column.name] = field;
  }
  return fields;
}
