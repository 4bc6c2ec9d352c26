import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parse } from 'csv-parse';
import { z } from 'zod';
import { type WorkgroupConfig, workgroupSchema, zodProblems } from '../config.ts';
import { type FieldValue, fieldValueSchema } from '../contract/messages.ts';
import { errorMessage, InputError } from '../errors.ts';
import { inWords } from '../input-words.ts';
import { parseInstant, type UtcMs } from '../time.ts';

/** A reading of a case, as a device would send it. */
export interface CaseReading {
  table: string;
  device: string;
  source: string | null;
  eventTimeMs: UtcMs;
  data: Record<string, FieldValue>;
}

/** What is to be replayed: a workgroup's configuration and its readings in the order of the file. */
export interface ReplayCase {
  name: string;
  workgroup: WorkgroupConfig;
  readings(): AsyncIterable<CaseReading>;
}

/** The device of readings that name none. */
const LONE_DEVICE = '00000000-0000-4000-8000-000000000001';
const COLUMNS = ['event_time', 'device_id', 'source'] as const;

const describedSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  timezone: z.string().optional(),
  table: z.string().optional(),
  energyStreams: z
    .array(z.looseObject({ table: z.string().optional() }))
    .min(1, 'needs at least one energy stream'),
  devices: z.unknown().optional(),
  totalSource: z.unknown().optional(),
});
const inlineReadingSchema = z.looseObject({
  event_time: z.string(),
  device: z.string().nullish(),
  source: z.string().nullish(),
  table: z.string().optional(),
  data: z.record(z.string(), fieldValueSchema),
});

/**
 * The cases at a path: a folder with `case.json` and `readings.csv.gz` (or `readings.csv`), or a JSON file with an array of cases whose
 * readings are inline.
 * @throws InputError that says what is wrong, and where
 */
export async function readCases(path: string): Promise<ReplayCase[]> {
  const found = await stat(path).catch((error: unknown) => {
    throw new InputError(path, [{ path: '', message: `cannot be read: ${errorMessage(error)}` }]);
  });
  if (found.isDirectory()) return [await readFolder(path)];
  const content = await readJson(path);
  const list = Array.isArray(content) ? content : [content];
  if (list.length === 0) throw new InputError(path, [{ path: '', message: 'holds no case' }]);
  const cases = list.map((item, index) => inlineCase(path, item, index));
  // The energy is told by the case's name, so one of two would be lost.
  const twice = cases.find(({ name }, index) => cases.findIndex((other) => other.name === name) !== index);
  if (twice) throw new InputError(path, [{ path: '', message: `has two cases with the id "${twice.name}"` }]);
  return cases;
}

async function readFolder(folder: string): Promise<ReplayCase> {
  const file = join(folder, 'case.json');
  const { name, workgroup, table } = describe(file, await readJson(file), 0);
  const packed = join(folder, 'readings.csv.gz');
  const plain = join(folder, 'readings.csv');
  const isPacked = await stat(packed).then(
    () => true,
    () => false,
  );
  return { name, workgroup, readings: () => readCsv(isPacked ? packed : plain, isPacked, table) };
}

function inlineCase(file: string, item: unknown, index: number): ReplayCase {
  const { name, workgroup, table } = describe(file, item, index);
  const parsed = z.object({ readings: z.array(inlineReadingSchema) }).safeParse(item, inWords);
  if (!parsed.success) throw new InputError(`${file}, case ${name}`, zodProblems(parsed.error));
  const readings = parsed.data.readings.map((reading, at): CaseReading => {
    const eventTimeMs = parseInstant(reading.event_time);
    if (eventTimeMs === undefined)
      throw badInstant(`${file}, case ${name}`, `readings.${at}.event_time`, reading.event_time);
    return {
      table: reading.table ?? table,
      device: reading.device ?? LONE_DEVICE,
      source: reading.source ?? null,
      eventTimeMs,
      data: reading.data,
    };
  });
  return {
    name,
    workgroup,
    async *readings() {
      yield* readings;
    },
  };
}

/** The configuration that a case describes; its streams belong to its table where they name none. */
function describe(
  file: string,
  content: unknown,
  index: number,
): { name: string; workgroup: WorkgroupConfig; table: string } {
  const described = describedSchema.safeParse(content, inWords);
  if (!described.success) throw new InputError(`${file}, case ${index + 1}`, zodProblems(described.error));
  const {
    id,
    name = id ?? String(index + 1),
    timezone,
    table,
    energyStreams,
    devices,
    totalSource,
  } = described.data;
  const ownTable = table ?? energyStreams.find((stream) => stream.table)?.table ?? 'readings';
  const workgroup = workgroupSchema.safeParse(
    {
      id: `case-${index + 1}`,
      timezone,
      energyStreams: energyStreams.map((stream) => ({ table: ownTable, ...stream })),
      devices,
      totalSource,
    },
    inWords,
  );
  if (!workgroup.success) throw new InputError(`${file}, case ${name}`, zodProblems(workgroup.error));
  return { name, workgroup: workgroup.data, table: ownTable };
}

async function* readCsv(path: string, isPacked: boolean, table: string): AsyncGenerator<CaseReading> {
  const bytes: Readable = createReadStream(path);
  const text = isPacked ? bytes.pipe(createGunzip()) : bytes;
  const rows = text.pipe(parse({ columns: true, bom: true, skip_empty_lines: true, info: true }));
  // An error of a stream does not travel along a pipe.
  for (const stream of [bytes, text]) stream.on('error', (error) => rows.destroy(error));
  try {
    for await (const { record, info } of rows as AsyncIterable<{
      record: Record<string, string>;
      info: { lines: number };
    }>) {
      yield csvReading(path, record, info.lines, table);
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(path, [{ path: '', message: errorMessage(error) }]);
  }
}

function csvReading(path: string, record: Record<string, string>, line: number, table: string): CaseReading {
  const { event_time = '', device_id = '', source = '', ...fields } = record;
  const eventTimeMs = parseInstant(event_time);
  if (eventTimeMs === undefined) throw badInstant(path, `line ${line}, ${COLUMNS[0]}`, event_time);
  const data = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, fieldValue(text)]));
  return { table, device: device_id || LONE_DEVICE, source: source || null, eventTimeMs, data };
}

/** Plain decimal numbers are numbers; everything else stays the text that it is, for the roll-up to judge. */
function fieldValue(text: string): FieldValue {
  if (text === '') return null;
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))
    ? Number(text)
    : text;
}

function badInstant(what: string, path: string, text: string): InputError {
  return new InputError(what, [
    {
      path,
      message: `"${text.slice(0, 40)}" is no instant; use ISO 8601 with a zone, such as 2026-11-20T13:05:00Z`,
    },
  ]);
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InputError(file, [{ path: '', message: `cannot be read: ${errorMessage(error)}` }]);
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(file, [
      { path: '', message: `is no JSON that can be read: ${errorMessage(error)}` },
    ]);
  }
}
