import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { deviceIdSchema } from '../../contract/messages.ts';
import { errorMessage, InputError, isMissing } from '../../lib/errors.ts';
import { isLocalDate, type LocalDate } from '../../lib/time.ts';

/** The energy of a day that is known from elsewhere. */
export interface ExpectedDay {
  day: LocalDate;
  device: string;
  source: string;
  energyWh: number;
  toleranceWh: number;
}

/** A known day and the computed energy in Wh. */
export interface ComparedDay extends ExpectedDay {
  /** Null if the day has no energy. */
  gotWh: number | null;
  differenceWh: number;
  matches: boolean;
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
 * Reads `expected.csv`: day, device_id, source, energy_wh, tolerance_wh.
 * @returns undefined if there is no such file
 * @throws InputError with the lines that cannot be read
 */
export async function readExpected(file: string): Promise<ExpectedDay[] | undefined> {
  const rows = await readTable(file);
  if (rows === undefined) return undefined;
  const table = z.array(rowSchema).safeParse(rows);
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
    if (isMissing(error)) return undefined;
    throw new InputError(file, [{ path: '', message: errorMessage(error) }]);
  }
}

/**
 * Compares known days with the computed energy, the largest difference first, relative to the tolerance. A
 * tolerance counts as 1 Wh at least, because days are rounded to Wh.
 */
export function compareDays(
  expected: readonly ExpectedDay[],
  bySource: Readonly<Record<LocalDate, Readonly<Record<string, number>>>>,
): ComparedDay[] {
  const distance = ({ gotWh, differenceWh, toleranceWh }: ComparedDay) =>
    gotWh === null ? Number.POSITIVE_INFINITY : Math.abs(differenceWh) / Math.max(1, toleranceWh);
  return expected
    .map((day): ComparedDay => {
      const gotWh = bySource[day.day]?.[`${day.device}.${day.source}`] ?? null;
      const differenceWh = Math.round(((gotWh ?? 0) - day.energyWh) * 1_000) / 1_000;
      const matches = gotWh !== null && Math.abs(differenceWh) <= day.toleranceWh;
      return { ...day, gotWh, differenceWh, matches };
    })
    .sort((a, b) => (distance(a) === distance(b) ? 0 : distance(b) - distance(a)));
}
