import { type BarColumn, type BarSeries, totalOf, withBeginning } from '../pictures/bar-data.ts';
import { type LocalDay, listDays } from '../words/local-days.ts';
import { countText, exactEnergy, formatEnergy, plural } from '../words/number-words.ts';
import { columnsOf, daysOfColumn, type Grain, isWholeColumn, type ShownPeriod } from '../words/periods.ts';
import { type BalanceRole, roleWords, stackedRoles } from '../words/role-words.ts';
import { columnName, columnTick } from '../words/time-words.ts';
import type { Balance, Balances, DailyEnergy, DayDetails, DayOfSeries } from './answers.ts';
import { qualityOf, tellingFlags } from './day-quality.ts';
import { sumOfKnown } from './sum-of-known.ts';
import { COLOURS, OTHERS, othersName } from './top-series.ts';

/** The columns and series of a picture, and the Wh of each. */
export interface EnergyColumns {
  series: BarSeries[];
  columns: BarColumn[];
}

/** The days of a month or a year that have data, and all of them until today. */
interface DaysKnown {
  known: number;
  all: number;
}

/** What the columns of a picture show. */
interface ColumnsView {
  period: ShownPeriod;
  grain: Grain;
  today: LocalDay;
  hrefOf?: ((column: string) => string) | undefined;
}

/**
 * How far the column of today reaches. A balance needs all of its sources, so it ends with the last quarter
 * of an hour that is known for all of them. A source contains everything that was measured until now.
 */
const TODAY = { balance: 'up to the last quarter of an hour that is known', series: 'until now' } as const;
const IN_PART = 'only a part is measured, so the balance is not known';

/** The energy of a role in a balance. */
export const valueOfRole: Readonly<Record<BalanceRole, (balance: Balance) => number | null>> = {
  production: ({ productionWh }) => productionWh,
  battery_discharge: ({ batteryDischargeWh }) => batteryDischargeWh,
  grid_import: ({ gridImportWh }) => gridImportWh,
  consumption: ({ consumptionWh }) => consumptionWh,
  battery_charge: ({ batteryChargeWh }) => batteryChargeWh,
  grid_export: ({ gridExportWh }) => gridExportWh,
};

/**
 * The roles that are measured or computed. A balance has zeros for roles that the site does not have, such as
 * those of a battery. These are left out.
 * @param measured roles that have a source. Balances by interval list no sources, so for them a role with
 *   0 Wh is known only from here
 */
export function presentRoles(
  balances: readonly Balance[],
  measured: ReadonlySet<BalanceRole> = new Set(),
): BalanceRole[] {
  return stackedRoles.filter(
    (role) =>
      measured.has(role) ||
      balances.some(
        (balance) =>
          Boolean(valueOfRole[role](balance)) ||
          balance.parts.some((part) => part.role === role) ||
          balance.missing.includes(role) ||
          balance.computed.includes(role),
      ),
  );
}

/** A balance: what comes into a site above the axis, what goes out of it below. */
export function balanceColumns(
  balances: Balances,
  details: DayDetails | undefined,
  view: ColumnsView,
): EnergyColumns {
  const roles = presentRoles(Object.values(balances));
  const series = roles.map((role): BarSeries => ({ key: role, tone: role, ...roleWords[role] }));
  const columns = columnsOf(view.period, view.grain).map((key) => {
    const balance = balances[key];
    const values = roles.map((role) => (balance ? valueOfRole[role](balance) : null));
    const daysKnown =
      balance?.days != null && balance.completeDays !== null
        ? { known: balance.completeDays, all: balance.days }
        : undefined;
    // Energy that comes in and energy that goes out are not added up. The total is that of one side.
    const total = totalOf({ values }, series);
    return columnOf({ key, values, total, details: details?.[key], missing: undefined, daysKnown }, view);
  });
  return { series, columns: withBeginning(columns) };
}

/**
 * Series on top of each other: devices, or sources of one role.
 * @param energy Wh by day and series; null if there is none
 */
export function seriesColumns(
  energy: DailyEnergy | DayDetails,
  chosen: (key: string) => boolean,
  nameOf: (key: string) => string,
  view: ColumnsView,
): EnergyColumns {
  const sums = new Map<string, Map<string, number>>();
  const totals = new Map<string, number>();
  const length = { day: 10, month: 7, year: 4 }[view.grain];
  for (const [day, values] of Object.entries(energy)) {
    const column = day.slice(0, length);
    const sum = sums.get(column) ?? new Map<string, number>();
    sums.set(column, sum);
    for (const [key, value] of Object.entries<number | DayOfSeries>(values)) {
      if (!chosen(key)) continue;
      const wh = typeof value === 'number' ? value : value.energyWh;
      totals.set(key, (totals.get(key) ?? 0) + (wh ?? 0));
      if (wh !== null) sum.set(key, (sum.get(key) ?? 0) + wh);
    }
  }
  const daysOf = (column: string): DaysKnown | undefined => {
    if (view.grain === 'day') return undefined;
    const { from, to } = daysOfColumn(column, view.period);
    const all = listDays(from, [to, view.today].sort()[0]!);
    const known = all.filter((day) => Object.keys(energy[day] ?? {}).some(chosen)).length;
    return { known, all: all.length };
  };
  const largestFirst = [...totals].sort(([, a], [, b]) => b - a).map(([key]) => key);
  // In a large answer the service has added up the smaller series as `OTHERS`.
  const named = largestFirst.filter((key) => key !== OTHERS);
  const isOwn = largestFirst.length <= COLOURS && named.length === largestFirst.length;
  const own = isOwn ? named : named.slice(0, COLOURS - 1);
  const others = largestFirst.filter((key) => !own.includes(key));
  const columns = columnsOf(view.period, view.grain).map((column) => {
    const sum = sums.get(column);
    const values = [
      ...own.map((key) => sum?.get(key) ?? null),
      ...(others.length > 0 ? [sumOfKnown(others.map((key) => sum?.get(key)))] : []),
    ];
    const day = detailsOf(energy[column]);
    const missing = largestFirst.filter((key) => !sum?.has(key)).length;
    const total = sumOfKnown([...(sum?.values() ?? [])]);
    const details = day && pick(day, chosen);
    return columnOf({ key: column, values, total, details, missing, daysKnown: daysOf(column) }, view);
  });
  return {
    series: [
      ...own.map((key, index) => ({ key, name: nameOf(key), tone: String(index + 1), side: 1 as const })),
      ...(others.length > 0
        ? [
            {
              key: OTHERS,
              name: othersName(others),
              tone: 'others',
              side: 1 as const,
            },
          ]
        : []),
    ],
    columns: withBeginning(columns),
  };
}

function detailsOf(
  day: DailyEnergy[string] | DayDetails[string] | undefined,
): DayDetails[string] | undefined {
  const [first] = Object.values(day ?? {});
  return typeof first === 'object' ? (day as DayDetails[string]) : undefined;
}

function pick(details: DayDetails[string], chosen: (key: string) => boolean): DayDetails[string] {
  return Object.fromEntries(Object.entries(details).filter(([key]) => chosen(key)));
}

/** What is known about a column. */
interface ColumnFacts {
  key: string;
  values: Array<number | null>;
  /** What the column has in all; null if it is not known. */
  total: number | null;
  details: DayDetails[string] | undefined;
  /** Series without a value; undefined for a balance. */
  missing: number | undefined;
  daysKnown: DaysKnown | undefined;
}

function columnOf(facts: ColumnFacts, { period, today, hrefOf }: ColumnsView): BarColumn {
  const { key, values, details, missing = 0, daysKnown } = facts;
  const isToday = key === today;
  const isEmpty = values.every((value) => value === null);
  const quality = details && qualityOf(judgedDetails(details, isToday), isEmpty ? 0 : missing);
  const mark = isToday ? undefined : quality?.mark;
  const column = {
    key,
    tick: columnTick(key, period.from),
    name: columnName(key),
    href: hrefOf?.(key),
    values,
  };
  if (key > today.slice(0, key.length) || (isToday && isEmpty))
    return { ...column, state: 'future', mark, notes: [isToday ? 'nothing yet' : 'has not begun'] };
  if (isEmpty) {
    // The sources have energy, but not for the whole day. So the balance has no sum.
    const isPart = Object.values(details ?? {}).some(({ energyWh }) => energyWh !== null);
    const notes = [isPart ? IN_PART : 'no data', ...(quality?.notes ?? [])];
    return { ...column, state: 'missing', mark, notes, ...(isPart && { isPart }) };
  }
  return {
    ...column,
    isWhole: isWholeColumn(key, period, today) && (!daysKnown || daysKnown.known === daysKnown.all),
    state: quality?.isProvisional ? 'provisional' : 'measured',
    mark: mark ?? (!isToday && lacksDays(facts, today) ? 'doubtful' : undefined),
    notes: [...energyNotes(facts, isToday), ...(quality?.notes ?? [])],
  };
}

/** The details of a column as its quality is judged. */
function judgedDetails(details: DayDetails[string], isToday: boolean) {
  return Object.values(details).map((value) => ({
    ...value,
    flags: [...tellingFlags(value.flags, isToday)],
  }));
}

/** True if a month has days without data. In the current month, today can be missing. That is not a fault. */
function lacksDays({ key, daysKnown }: ColumnFacts, today: LocalDay): boolean {
  const isRunning = key === today.slice(0, key.length);
  return daysKnown !== undefined && daysKnown.known < daysKnown.all - (isRunning ? 1 : 0);
}

/** What is said about the energy of a column that has some. */
function energyNotes({ total, missing, daysKnown }: ColumnFacts, isToday: boolean): string[] {
  return [
    total === null ? 'only a part is known' : `${formatEnergy(total)} (${exactEnergy(total)})`,
    ...(isToday ? [TODAY[missing === undefined ? 'balance' : 'series']] : []),
    ...(daysKnown && daysKnown.known < daysKnown.all
      ? [`${countText(daysKnown.known)} of ${plural(daysKnown.all, 'day')} with data`]
      : []),
  ];
}

/** The columns of a period, each with the column of another period at the same place as its reference. */
export function withReference(
  { series, columns }: EnergyColumns,
  others: readonly BarColumn[] | undefined,
  referenceOf: (column: BarColumn) => number | null,
): EnergyColumns {
  if (!others) return { series, columns };
  return {
    series,
    columns: columns.map((column, index) => {
      const other = others[index];
      return { ...column, reference: other ? referenceOf(other) : null };
    }),
  };
}
