import type { DuckDBConnection } from '@duckdb/node-api';
import { InputError } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { addDays, DAY_MS, formatLocal, type LocalDate, localDateOf } from '../lib/time.ts';
import { bindDays, type RollUpContext } from '../rollup/rollup-context.ts';
import { query } from '../warehouse/query.ts';
import type { CorrectionRequest } from './correction-request.ts';

/**
 * The largest distance of a comparable day: the season is the same, and there are four of each weekday on
 * either side.
 */
const DISTANCE_DAYS = 28;
/** The maximum number of comparable days. The nearest are used. */
const DAYS_MAX = 10;
/** The fewest comparable days. The median of fewer days depends too much on chance. */
const DAYS_MIN = 3;

/** An estimate: whole Wh by interval, and its basis. */
export interface Estimate {
  values: Array<{ startMs: number; energyWh: number }>;
  energyWh: number;
  basis: EstimateBasis;
}

type EstimateBasis =
  | { from: 'comparable_days'; days: Record<LocalDate, LocalDate[]> }
  | { from: 'other_source'; device: string; source: string; ratio: number; days: number };

type FillRequest = Extract<CorrectionRequest, { kind: 'fill' }>;

/**
 * Estimates what a source would have measured in a time range. The energy streams are bound on the
 * connection.
 * @throws InputError if nothing is missing, or if too little is known
 */
export async function estimate(
  connection: DuckDBConnection,
  request: FillRequest,
  timezone: string,
): Promise<Estimate> {
  const { device, source, fromMs, toMs, like, replace } = request;
  const context: RollUpContext = { connection, timezone, closeAfterMs: 0 };
  const around = {
    lowMs: fromMs - (DISTANCE_DAYS + 1) * DAY_MS,
    highMs: toMs + (DISTANCE_DAYS + 1) * DAY_MS,
  };
  await bindDays(context, around.lowMs, around.highMs, { byInterval: true });
  const slots = await count(connection, 'correction/collect_slots', {
    device,
    source,
    from_ms: BigInt(fromMs),
    to_ms: BigInt(toMs),
    timezone,
    replace,
  });
  if (slots === 0)
    throw refusal('from', 'measurements cover all of this time; say replace to estimate it nevertheless');
  await query(connection, 'correction/collect_basis', {
    ...(like ?? { device, source }),
    timezone,
    low_ms: BigInt(around.lowMs),
    high_ms: BigInt(around.highMs),
  });
  return like ? fromOtherSource(connection, request, like, timezone) : fromComparableDays(connection);
}

async function fromComparableDays(connection: DuckDBConnection): Promise<Estimate> {
  await query(connection, 'correction/choose_days', { distance_days: DISTANCE_DAYS, days_max: DAYS_MAX });
  const rows = await query<{ target: string; days: string }>(connection, 'correction/list_chosen_days');
  const days = Object.fromEntries(
    rows.map(({ target, days: list }) => [target, list.split(',').filter(Boolean)]),
  );
  for (const [target, chosen] of Object.entries(days))
    if (chosen.length < DAYS_MIN)
      throw refusal(
        'from',
        `${target} has ${formatCountOf(chosen.length, 'comparable day')} (of the same kind, at most ${DISTANCE_DAYS} days away, with the same hours measured), and ${DAYS_MIN} are needed; take another source, or set the energy`,
      );
  const values = await query<Value>(connection, 'correction/list_median_values');
  return { ...rounded(values), basis: { from: 'comparable_days', days } };
}

async function fromOtherSource(
  connection: DuckDBConnection,
  { device, source, fromMs, toMs }: FillRequest,
  like: { device: string; source: string },
  timezone: string,
): Promise<Estimate> {
  if (like.device === device && like.source === source) throw refusal('like', 'must be another source');
  const [fromDay, toDay] = [localDateOf(fromMs, timezone), localDateOf(toMs - 1, timezone)];
  const [found] = await query<{ ratio: number | null; days: number }>(connection, 'correction/find_ratio', {
    device,
    source,
    like_device: like.device,
    like_source: like.source,
    low_day: addDays(fromDay, -DISTANCE_DAYS),
    high_day: addDays(toDay, DISTANCE_DAYS),
    from_day: fromDay,
    to_day: toDay,
  });
  const { ratio, days } = found!;
  if (ratio === null || days < DAYS_MIN)
    throw refusal(
      'like',
      `both sources have ${formatCountOf(days, 'whole day')} within ${DISTANCE_DAYS} days, and ${DAYS_MIN} are needed to compare them`,
    );
  const values = await query<{ start_ms: number; energy_wh: number | null }>(
    connection,
    'correction/list_scaled_values',
    {
      ratio,
    },
  );
  const missing = values.find(({ energy_wh }) => energy_wh === null);
  if (missing)
    throw refusal('like', `has no measurements at ${formatLocal(missing.start_ms, timezone)} either`);
  return { ...rounded(values as Value[]), basis: { from: 'other_source', ...like, ratio, days } };
}

type Value = { start_ms: number; energy_wh: number };

/** Rounds the running sum, so the parts add up to the rounded whole. */
function rounded(values: readonly Value[]): Pick<Estimate, 'values' | 'energyWh'> {
  let sum = 0;
  let assignedWh = 0;
  const roundedValues = values.map(({ start_ms: startMs, energy_wh }) => {
    sum += energy_wh;
    const energyWh = Math.round(sum) - assignedWh;
    assignedWh += energyWh;
    return { startMs, energyWh };
  });
  return { values: roundedValues, energyWh: assignedWh };
}

async function count(...statement: Parameters<typeof query>): Promise<number> {
  const [row] = await query<{ Count: bigint }>(...statement);
  return Number(row?.Count ?? 0n);
}

function refusal(path: string, message: string): InputError {
  return new InputError('the correction', [{ path, message }]);
}
