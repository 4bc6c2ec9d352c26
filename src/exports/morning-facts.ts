import { siteScope, workgroupScope } from '../balance/balance-scope.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { addDays, dayBounds, type LocalDate, type UtcMs } from '../lib/time.ts';
import { balanceStatement } from '../report/balance-question.ts';
import { type DeviceState, readDeviceStates } from '../report/device-states.ts';
import type { Generation, LakeReader } from '../report/lake/lake-reader.ts';
import { deviceDailyEnergyRows } from '../report/rows/energy-rows.ts';
import { siteVariance } from '../report/site-report.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { query, queryText } from '../warehouse/query.ts';
import { USUAL_DAYS } from './usual-energy.ts';

/** The members of a balance that a mail shows. */
interface Balance {
  missing: string[];
  parts: Array<{ device: string; role: string }>;
  autarky: number | null;
  [flowWh: `${string}Wh`]: number | null;
}

/** The known facts on the morning after a day. Energy is in Wh; null is unknown. */
export interface MorningFacts {
  day: LocalDate;
  workgroup: WorkgroupConfig;
  /** Balances by day, of each site, or of the workgroup if it has none. */
  balances: Array<{ name: string; days: Record<LocalDate, Balance> } | { name: string; refusal: string }>;
  devices: DeviceWeeks[];
  states: DeviceState[];
  /** The time at which the lake of these facts was published. */
  publishedAtMs: UtcMs;
  budgets: Array<{ site: string; actualWh: number | null; budgetWh: number | null; partial: boolean }>;
  gaps: Array<{ fromMs: UtcMs; toMs: UtcMs; reason: string }>;
}

/** Flags of a day whose energy is known in part only. */
export const inPartFlags: readonly string[] = ['partial', 'incomplete'];

export interface DeviceWeeks {
  device: string;
  /** By day: the day of the mail, and the days that give the usual energy. */
  energies: Record<LocalDate, number | null>;
  flags: string[];
  /** Share of the day, 0 to 1; null: nothing of the day. */
  coverage: number | null;
  /** The newest earlier day with energy; null: none in the weeks before. */
  lastDay: LocalDate | null;
}

interface LakeRead {
  lake: LakeReader;
  generation: Generation;
  signal: AbortSignal;
}

/** Reads the facts of a mail about a day that is over, from one generation of the lake. */
export async function readMorningFacts(
  workgroup: WorkgroupConfig,
  day: LocalDate,
  from: LakeRead,
): Promise<MorningFacts> {
  return {
    day,
    workgroup,
    balances: await readBalances(workgroup, day, from),
    devices: await readDeviceWeeks(workgroup, day, from),
    states: await readDeviceStates(from.lake, from.generation, workgroup, from.signal),
    publishedAtMs: from.generation.commit.createdAtMs,
    budgets: await readBudgets(workgroup, day, from),
    gaps: await readGaps(workgroup, day, from),
  };
}

async function readBalances(
  workgroup: WorkgroupConfig,
  day: LocalDate,
  { lake, generation, signal }: LakeRead,
) {
  if (workgroup.roles.length === 0) return [];
  const sites = workgroup.sites.filter(({ devices }) => devices.length > 0);
  const scopes =
    sites.length > 0
      ? sites.map((site) => ({ name: site.name, scope: siteScope(site) }))
      : [{ name: workgroup.id, scope: workgroupScope(workgroup) }];
  const balances: MorningFacts['balances'] = [];
  for (const { name, scope } of scopes) {
    const statement = balanceStatement({
      scope,
      resolution: 'day',
      startDay: addDays(day, -USUAL_DAYS),
      endDay: day,
      zone: workgroup.timezone,
      ownZone: workgroup.timezone,
      nowMs: Number.MAX_SAFE_INTEGER,
      generation,
    });
    try {
      const parts = await statement.read(lake, signal);
      balances.push({
        name,
        days: JSON.parse(Buffer.concat(parts).toString()) as Record<LocalDate, Balance>,
      });
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      // NotFound means that no source of the site has a role. Such a site has no balance, which is not a
      // problem.
      if (error.code !== 'NotFound') balances.push({ name, refusal: error.message });
    }
  }
  return balances;
}

async function readDeviceWeeks(
  workgroup: WorkgroupConfig,
  day: LocalDate,
  { lake, generation, signal }: LakeRead,
): Promise<DeviceWeeks[]> {
  const select = deviceDailyEnergyRows(
    {
      startDay: addDays(day, -USUAL_DAYS),
      endDay: day,
      zone: workgroup.timezone,
      bySource: false,
      splits: hasSplits(workgroup),
      devices: undefined,
    },
    { devices: [] },
    generation,
  );
  const sql = `WITH day_row AS (\n${select.sql}\n)\n${loadSql('export/list_device_weeks')}`;
  const rows = await lake.run(
    select.reads,
    (connection) =>
      queryText<{
        device: string;
        energies: string | null;
        flags: string;
        coverage: number | null;
        last_day: LocalDate | null;
      }>(connection, sql, {
        ...select.parameters,
        day,
        doubtful_flags: [...inPartFlags, 'unavailable'],
      }),
    signal,
  );
  return rows.map(({ device, energies, flags, coverage, last_day }) => ({
    device,
    energies: JSON.parse(energies ?? '{}') as DeviceWeeks['energies'],
    flags: flags.split(' ').filter(Boolean),
    coverage,
    lastDay: last_day,
  }));
}

async function readBudgets(
  workgroup: WorkgroupConfig,
  day: LocalDate,
  { lake, generation, signal }: LakeRead,
) {
  const budgets: MorningFacts['budgets'] = [];
  if (generation.files('budget').length === 0) return budgets;
  for (const site of workgroup.sites.filter(({ meters }) => meters.length > 0)) {
    const question = { workgroup, site, startDay: day, endDay: day, zone: workgroup.timezone, generation };
    const report = siteVariance(question, { scenario: undefined, today: addDays(day, 1) });
    const { days } = (await report.read(lake, signal))({ startDay: day, endDay: day });
    const { actualWh = null, budgetWh = null, partial = false } = days[day] ?? {};
    if (budgetWh !== null) budgets.push({ site: site.name, actualWh, budgetWh, partial });
  }
  return budgets;
}

/** A mail has few lines. */
const GAPS_MAX = 20n;

async function readGaps(
  { timezone }: WorkgroupConfig,
  day: LocalDate,
  { lake, generation, signal }: LakeRead,
) {
  const files = generation.files('gap');
  if (files.length === 0) return [];
  const [{ startMs, endMs }] = dayBounds(day, day, timezone) as [ReturnType<typeof dayBounds>[number]];
  const rows = await lake.run(
    { generation, files },
    (connection) =>
      query<{ from_ms: UtcMs; to_ms: UtcMs; reason: string }>(connection, 'export/list_open_gaps', {
        files: files.map(generation.path),
        start_ms: BigInt(startMs),
        end_ms: BigInt(endMs),
        rows_max: GAPS_MAX,
      }),
    signal,
  );
  return rows.map(({ from_ms: fromMs, to_ms: toMs, reason }) => ({ fromMs, toMs, reason }));
}
