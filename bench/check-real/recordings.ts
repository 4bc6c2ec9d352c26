import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { type ReplayCase, readCases } from '../../src/cli/replay/read-cases.ts';
import { deviceIdSchema } from '../../src/contract/messages.ts';
import { errorMessage, InputError } from '../../src/lib/errors.ts';
import { isLocalDate, type LocalDate } from '../../src/lib/time.ts';

/** What is known of a day from elsewhere. */
export interface ExpectedDay {
  day: LocalDate;
  device: string;
  source: string;
  energyWh: number;
  toleranceWh: number;
}

export interface Recording {
  replay: ReplayCase;
  /** Undefined where nothing is known: then there is nothing to compare with. */
  expected: ExpectedDay[] | undefined;
}

const number = z.string().trim().min(1, 'must be a number').pipe(z.coerce.number());
const rowSchema = z
  .object({
    day: z.string().refine(isLocalDate, { error: 'must be a day that exists, such as 2026-11-20' }),
    device_id: deviceIdSchema,
    source: z.string(),
    energy_wh: number,
    tolerance_wh: number.refine((wh) => wh >= 0, { error: 'must not be negative' }),
  })
  .transform(
    ({ day, device_id, source, energy_wh, tolerance_wh }): ExpectedDay => ({
      day,
      device: device_id,
      source: source || 'default',
      energyWh: energy_wh,
      toleranceWh: tolerance_wh,
    }),
  );

/**
 * The cases of the folders below a folder, or of the folder itself, in the order of their names.
 * @throws InputError that says what is wrong, and where
 */
export async function readRecordings(folder: string): Promise<Recording[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new InputError(folder, [{ path: '', message: `cannot be read: ${errorMessage(error)}` }]);
  });
  const folders = names.includes('case.json') ? [folder] : names.sort().map((name) => join(folder, name));
  const recordings: Recording[] = [];
  for (const one of folders) {
    if (!(await exists(join(one, 'case.json')))) continue;
    const [replay] = (await readCases(one)).readings;
    recordings.push({ replay: replay!, expected: await readExpected(join(one, 'expected.csv')) });
  }
  if (recordings.length === 0)
    throw new InputError(folder, [{ path: '', message: 'has no case: no folder in it has a case.json' }]);
  const twice = recordings.find(
    ({ replay }, index) => recordings.findIndex((other) => other.replay.name === replay.name) !== index,
  );
  if (twice)
    throw new InputError(folder, [
      { path: '', message: `has two cases with the name "${twice.replay.name}"` },
    ]);
  return recordings;
}

async function readExpected(file: string): Promise<ExpectedDay[] | undefined> {
  if (!(await exists(file))) return undefined;
  const table = z.array(rowSchema).safeParse(await readTable(file));
  if (table.success) return table.data;
  const problems = table.error.issues.map(({ path: [row, ...column], message }) => ({
    // The first line names the columns.
    path: `line ${Number(row) + 2}, ${column.join('.')}`,
    message,
  }));
  throw new InputError(file, problems.slice(0, 20));
}

async function readTable(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file), { columns: true, bom: true, skip_empty_lines: true });
  } catch (error) {
    throw new InputError(file, [{ path: '', message: errorMessage(error) }]);
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
