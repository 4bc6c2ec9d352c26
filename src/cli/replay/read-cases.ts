import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { WorkgroupConfig } from '../../config/config.ts';
import { renameInWorkgroup } from '../../config/old-names.ts';
import { workgroupSchema } from '../../config/workgroup-settings.ts';
import { zodProblems } from '../../config/zod-problems.ts';
import { type FieldValue, fieldValueSchema } from '../../contract/messages.ts';
import { errorMessage, InputError, type Problem } from '../../lib/errors.ts';
import { describeUnknown, inWords, nearest } from '../../lib/input-words.ts';
import { isThere } from '../../lib/is-there.ts';
import { parseInstant, type UtcMs } from '../../lib/time.ts';
import { type BalanceCase, isBalanceCase, readBalanceCase } from './balance-case.ts';
import { type ExpectedDay, readExpected } from './expected-days.ts';
import { badInstant, readCaseCsv } from './read-case-csv.ts';

/** A reading of a case, as a device sends it. */
export interface CaseReading {
  table: string;
  device: string;
  source: string | null;
  eventTimeMs: UtcMs;
  data: Record<string, FieldValue>;
}

/** A workgroup's configuration and its readings, in the order of the file. */
export interface ReplayCase {
  name: string;
  workgroup: WorkgroupConfig;
  /** @param onPart called with the part that is read, 0 to 1 */
  readings(onPart?: (part: number) => void): AsyncIterable<CaseReading>;
  /** Days that are known from elsewhere. Undefined if there are none. */
  expected?: readonly ExpectedDay[] | undefined;
}

/** The device of readings without a device. */
const LONE_DEVICE = '00000000-0000-4000-8000-000000000001';

/** Ignores other members, such as the expected energy and comments. */
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
  readings: z.unknown().optional(),
});
const settings = Object.keys(describedSchema.shape);
const inlineReadingSchema = z.looseObject({
  event_time: z.string(),
  device: z.string().nullish(),
  source: z.string().nullish(),
  table: z.string().optional(),
  data: z.record(z.string(), fieldValueSchema),
});

/**
 * Reads the cases at a path: a folder with `case.json` and `readings.csv.gz` (or `readings.csv`), or a JSON
 * file with an array of cases. Cases in JSON contain readings, or the energy of sources for a balance.
 * @throws InputError with the problem and its place
 */
export async function readCases(path: string): Promise<{ readings: ReplayCase[]; balances: BalanceCase[] }> {
  const found = await stat(path).catch((error: unknown) => {
    throw new InputError(path, [{ path: '', message: `cannot be read: ${errorMessage(error)}` }]);
  });
  if (TABLES.test(path)) throw new InputError(path, [{ path: '', message: tableMessage(path) }]);
  if (found.isDirectory()) return { readings: [await readFolder(path)], balances: [] };
  const content = await readJson(path);
  const list = Array.isArray(content) ? content : [content];
  if (list.length === 0) throw new InputError(path, [{ path: '', message: 'contains no case' }]);
  const readings: ReplayCase[] = [];
  const balances: BalanceCase[] = [];
  for (const [index, item] of list.entries()) {
    if (isBalanceCase(item)) balances.push(readBalanceCase(path, item, index));
    else readings.push(inlineCase(path, item, index));
  }
  // Results are named by their case, so names must differ.
  const names = [...readings, ...balances].map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new InputError(path, [{ path: '', message: `has two cases with the id "${twice}"` }]);
  return { readings, balances };
}

/** Files that `wattline import` reads. A case is JSON. */
const TABLES = /\.(?:csv|tsv|txt|ndjson|jsonl|parquet|xlsx|xlsm)(?:\.(?:gz|zst))?$/i;

function tableMessage(path: string): string {
  const name = basename(path);
  return `is a table, and a case is a folder or a JSON file. "wattline import ${name} --table <name> --dry-run" shows how the table would be imported. To try it here, name it readings.csv in a folder with case.json (see "wattline help replay"), and give the folder`;
}

async function readFolder(folder: string): Promise<ReplayCase> {
  const file = join(folder, 'case.json');
  const { name, workgroup, table } = describe(file, await readJson(file), 0);
  const path = await readingsFile(folder);
  const fields = [...new Set(workgroup.energyStreams.map(({ field }) => field))];
  return {
    name,
    workgroup,
    expected: await readExpected(join(folder, 'expected.csv')),
    async *readings(onPart) {
      const rows = readCaseCsv(path, fields, onPart);
      for await (const { deviceId = LONE_DEVICE, source = null, ...reading } of rows)
        yield { table, device: deviceId, source, ...reading };
    },
  };
}

async function readingsFile(folder: string): Promise<string> {
  for (const path of ['readings.csv.gz', 'readings.csv'].map((file) => join(folder, file))) {
    if (await isThere(path)) return path;
  }
  throw new InputError(folder, [{ path: '', message: 'has neither readings.csv.gz nor readings.csv' }]);
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

/** An unknown member is a problem. */
function misspeltAs(key: string): Problem[] {
  const suggestion = nearest(key, settings);
  return suggestion === undefined ? [] : [{ path: key, message: describeUnknown(suggestion) }];
}

/** The configuration of a case. Its streams belong to its table by default. */
function describe(
  file: string,
  content: unknown,
  index: number,
): { name: string; workgroup: WorkgroupConfig; table: string } {
  const described = describedSchema.safeParse(content, inWords);
  if (!described.success) throw new InputError(`${file}, case ${index + 1}`, zodProblems(described.error));
  const misspelt = Object.keys(described.data)
    .filter((key) => !settings.includes(key))
    .flatMap((key) => misspeltAs(key));
  if (misspelt.length > 0) throw new InputError(`${file}, case ${index + 1}`, misspelt);
  const {
    id,
    name = id ?? String(index + 1),
    timezone,
    table,
    energyStreams,
    devices,
    totalSource,
  } = described.data;
  renameInWorkgroup({ energyStreams });
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

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InputError(file, [{ path: '', message: `cannot be read: ${errorMessage(error)}` }]);
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(file, [{ path: '', message: `is not valid JSON: ${errorMessage(error)}` }]);
  }
}
