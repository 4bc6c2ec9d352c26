import type { SiteConfig } from '../config/meters.ts';
import type { LocalDate } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryText } from '../warehouse/query.ts';
import type { LakeReader } from './lake/lake-reader.ts';
import type { DaysSource } from './meter-days.ts';

/** A meter, a device or a source of a site. */
export type SiteMember = ({ meter: string } | { device: string; source?: string | undefined }) & {
  /** Key of its energy; see `Member`. */
  key: string;
  sign: 1 | -1;
  /** Days of validity, included. */
  from?: LocalDate | undefined;
  to?: LocalDate | undefined;
};

/** The energy of a member on a day. */
export interface DayValue {
  /** Null if the energy is unknown. */
  energyWh: number | null;
  /** Share of the day that readings cover. */
  coverage: number;
  flags: readonly string[];
  /** Scenario of a budget. */
  scenario?: string;
}

/** Values by key, by day. */
export type DayValues = ReadonlyMap<LocalDate, ReadonlyMap<string, DayValue>>;

export function metersOf({ meters }: SiteConfig): SiteMember[] {
  return meters.map(({ code, ...member }) => ({ ...member, meter: code, key: code }));
}

export function siteDevicesOf({ devices }: SiteConfig): SiteMember[] {
  return devices.map(({ id, ...member }) => ({
    ...member,
    device: id,
    key: `device ${id} ${member.source ?? ''}`,
  }));
}

export function isMemberOn({ from, to }: SiteMember, day: LocalDate): boolean {
  return (from === undefined || from <= day) && (to === undefined || day <= to);
}

/** Reads the days of "meter_day". */
export async function readDayValues(
  lake: LakeReader,
  { statements }: DaysSource,
  kind: 'meter' | 'budget',
  signal?: AbortSignal,
): Promise<DayValues> {
  const days = new Map<LocalDate, Map<string, DayValue>>();
  if (!statements) return days;
  const rows = await lake.run(
    statements.reads,
    (connection) =>
      queryText<{
        key: string;
        day: string;
        energy_wh: number | null;
        coverage: number;
        flags: string | null;
        scenario: string | null;
      }>(
        connection,
        statements.sql +
          loadSql(kind === 'meter' ? 'report/select_meter_values' : 'report/select_budget_values'),
        statements.parameters,
      ),
    signal,
  );
  for (const { key, day, energy_wh, coverage, flags, scenario } of rows) {
    const values = days.get(day) ?? new Map<string, DayValue>();
    values.set(key, {
      energyWh: energy_wh,
      coverage,
      flags: flags ? flags.split(',') : [],
      ...(scenario !== null && { scenario }),
    });
    days.set(day, values);
  }
  return days;
}

/** A share in percent with two decimals. @returns null if the whole is null or 0 */
export function percentOf(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((10_000 * part) / whole) / 100;
}
