import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Problem } from '../lib/errors.ts';
import { DAY_MS, formatInstant } from '../lib/time.ts';
import { flagBits } from '../rollup/flag-bits.ts';
import { ruleConstants } from '../rollup/rule-constants.ts';
import { query } from '../warehouse/query.ts';
import { searchLimits } from './search-limits.ts';

/** What a week of readings must show before a problem is reported. Fewer cases are chance. */
const STILL = { covered_min_ms: DAY_MS, power_min_wh: 1_000, resolutions_min: 20 };
const BEYOND = { intervals_min: 4, share_min: 0.05 };
const CONTRADICTED = { newest_days: 7, days_min: 2 };
/**
 * A unit has changed if the value has changed by the factor between two units. The factor may differ by this
 * share. Small values do this by chance.
 */
const UNIT_CHANGE = { tolerance_share: 0.01, value_min_wh: 100 };

/** The readings of a device and source, by stream. */
type Whose = { position: number; device: string; source: string };

/** Devices and sources with readings that contradict the settings of a stream. */
export async function readingProblems(
  connection: DuckDBConnection,
  { energyStreams }: WorkgroupConfig,
): Promise<Problem[]> {
  const still = await query<StillRow>(connection, 'problems/find_still_registers', {
    newest_ms: searchLimits.weekMs,
    ...STILL,
    rows_max: searchLimits.rowsMax,
  });
  const problems = [
    ...still.map((row) => stillRegister(row, energyStreams)),
    ...(await beyondPower(connection)),
    ...(await unitChanges(connection)),
    ...(await contradicted(connection, energyStreams, still)),
  ];
  return problems
    .filter(({ position }) => energyStreams[position])
    .map(({ position, setting, message }) => ({ path: `energyStreams.${position}.${setting}`, message }));
}

type Found = { position: number; setting: string; message: string };
type Streams = WorkgroupConfig['energyStreams'];

type StillRow = Whose & { power_wh: number };
function stillRegister({ position, device, source, power_wh }: StillRow, streams: Streams): Found {
  return {
    position,
    setting: 'field',
    message: `the register of device ${device}, source ${source} has not grown for a week, while its power gives ${power_wh} Wh: check that "${streams[position]?.field}" is the register of this power, or put the power before it`,
  };
}

async function beyondPower(connection: DuckDBConnection): Promise<Found[]> {
  const rows = await query<Whose & { power_w: number; beyond: number; intervals: number }>(
    connection,
    'problems/find_beyond_power',
    {
      newest_ms: searchLimits.weekMs,
      beyond_flags: flagBits.spike | flagBits.rebase,
      ...BEYOND,
      rows_max: searchLimits.rowsMax,
    },
  );
  return rows.map(({ position, device, source, power_w, beyond, intervals }) => ({
    position,
    setting: 'maxPower',
    message: `in ${beyond} of ${intervals} quarter hours of the last week readings of device ${device}, source ${source} need more than ${power_w} W and are not counted: set maxPower to the maximum power of the device, or check the unit`,
  }));
}

async function unitChanges(connection: DuckDBConnection): Promise<Found[]> {
  const rows = await query<Whose & { at_ms: number; value_before: number; value_after: number }>(
    connection,
    'problems/find_unit_changes',
    {
      newest_ms: searchLimits.monthMs,
      forever_ms: ruleConstants.forever_ms.value,
      factor: ruleConstants.unit_factor.value,
      factor_kilo: ruleConstants.unit_factor_kilo.value,
      ...UNIT_CHANGE,
      rows_max: searchLimits.rowsMax,
    },
  );
  return rows.map(({ position, device, source, at_ms, value_before, value_after }) => ({
    position,
    setting: 'unit',
    message: `the register of device ${device}, source ${source} went from ${value_before} to ${value_after} Wh at ${formatInstant(at_ms)}, ${timesOf(value_after / value_before)} its previous value: its unit may have changed; let the device send its unit in a field (unitField), or change it back`,
  }));
}

/**
 * The contradictions of readings. Devices and sources in `known` are left out, because their reason is known.
 */
async function contradicted(
  connection: DuckDBConnection,
  streams: Streams,
  known: readonly Whose[],
): Promise<Found[]> {
  const rows = await query<Whose & { days: number; last_day: string }>(
    connection,
    'problems/find_contradicted',
    { contradicted_flag: flagBits.contradicted, ...CONTRADICTED, rows_max: searchLimits.rowsMax },
  );
  const unknown = rows.filter(
    (row) => !known.some(({ device, source }) => device === row.device && source === row.source),
  );
  return unknown.map(({ position, device, source, days, last_day }) => ({
    position,
    setting: 'field',
    message: `on ${days} of the last seven days another method differs by more than a tenth from "${streams[position]?.field}" of device ${device}, source ${source}: see wattline explain ${device} ${last_day} --source ${source}, and correct the unit, the multiplier or the order of the streams`,
  }));
}

function timesOf(ratio: number): string {
  if (ratio < 1) return ratio < 0.01 ? 'a thousandth of' : 'a tenth of';
  return ratio > 100 ? 'a thousand times' : 'ten times';
}
