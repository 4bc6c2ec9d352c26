import { type BarColumn, type BarSeries, comparableOf, totalOf } from '../pictures/bar-data.ts';
import { exactEnergy, formatEnergy } from '../words/number-words.ts';
import { type BalanceRole, roleWords, stackedRoles } from '../words/role-words.ts';
import { hourMs, intervalMs } from '../words/time-units.ts';
import { clockTime, clockTimes } from '../words/time-words.ts';
import type { Balances, Profiles } from './answers.ts';
import { presentRoles, valueOfRole } from './energy-columns.ts';
import { sumOfKnown } from './sum-of-known.ts';
import { COLOURS, OTHERS, othersName } from './top-series.ts';

type Profile = Profiles[string];

export interface ProfileColumns {
  series: BarSeries[];
  columns: BarColumn[];
  /** The end of the last interval with energy, as a clock time. */
  lastKnown: string | undefined;
  /** True if `lastKnown` is the end of the day. */
  isWhole: boolean;
  peak: { time: string; wh: number } | undefined;
  /** Intervals without any energy that lie before the last one with energy. */
  missing: number;
}

/**
 * The balance of each interval in the form of a profile: its series are the roles, also computed ones.
 * @param measured roles that have a source
 */
export function profileOfBalance(
  profile: Profile | undefined,
  balances: Balances,
  measured: ReadonlySet<BalanceRole>,
): Profile | undefined {
  if (!profile || Object.keys(profile.energyWh).length === 0) return undefined;
  const startMs = Date.parse(profile.start);
  const rows = new Map(Object.entries(balances).map(([start, balance]) => [Date.parse(start), balance]));
  const present = presentRoles([...rows.values()], measured);
  return {
    ...profile,
    energyWh: Object.fromEntries(
      present.map((role) => [
        role,
        Array.from({ length: profile.intervals }, (_, index) => {
          const row = rows.get(startMs + index * intervalMs);
          return row ? valueOfRole[role](row) : null;
        }),
      ]),
    ),
  };
}

/** For a profile whose series are roles. */
export const rolesThemselves: ReadonlyMap<string, BalanceRole> = new Map(
  stackedRoles.map((role) => [role, role]),
);

/** The intervals of a day as columns. @returns undefined if there is no source */
export function profileColumns(
  profile: Profile | undefined,
  facts: {
    nameOf(key: string): string;
    roles: ReadonlyMap<string, BalanceRole>;
    zone: string;
    nowMs: number;
    other: Profile | undefined;
  },
): ProfileColumns | undefined {
  const { nameOf, roles, zone, nowMs, other } = facts;
  const keys = Object.keys(profile?.energyWh ?? {});
  if (!profile || keys.length === 0) return undefined;
  const rank = (key: string) => {
    const role = roles.get(key);
    return role ? stackedRoles.indexOf(role) : stackedRoles.length;
  };
  const sorted = keys.sort((a, b) => rank(a) - rank(b) || nameOf(a).localeCompare(nameOf(b)));
  const groups = groupsOf(sorted, roles, nameOf, profile);
  const series: BarSeries[] = groups.map(({ key, name, tone, side }) => ({ key, name, tone, side }));
  const startMs = Date.parse(profile.start);
  const own = new Set(groups.flatMap((group) => (group.key === OTHERS ? [] : group.keys)));
  // On another day other series can be the largest. Each series that has no colour here counts as one of the
  // others.
  const keysIn = (of: Profile, group: Group) =>
    group.key === OTHERS ? Object.keys(of.energyWh).filter((key) => !own.has(key)) : group.keys;
  const sumsAt = (of: Profile, index: number) =>
    groups.map((group) => sumOfKnown(keysIn(of, group).map((key) => of.energyWh[key]?.[index])));
  const starts = Array.from({ length: profile.intervals }, (_, index) => startMs + index * intervalMs);
  const times = [...clockTimes(starts, zone), clockTime(startMs + profile.intervals * intervalMs, zone)];
  const rows = starts.map((_, index) => sumsAt(profile, index));
  // An interval is known if one of the sources has a value, because some are silent at night.
  const last = rows.findLastIndex((row) => row.some((wh) => wh !== null));
  const columns = rows.map((values, index): BarColumn => {
    const isKnown = values.some((wh) => wh !== null);
    const isFuture = !isKnown && starts[index]! + intervalMs > nowMs - hourMs && index > last;
    const total = totalOf({ values }, series);
    return {
      key: new Date(starts[index]!).toISOString(),
      // The offset of some zones is not a whole number of hours, so the local clock decides where an hour
      // begins.
      tick: times[index]!.slice(0, 5).endsWith(':00') ? times[index]!.slice(0, 5) : '',
      name: `${times[index]} – ${times[index + 1]}`,
      values,
      state: isKnown ? 'measured' : isFuture ? 'future' : 'missing',
      notes: [
        total !== null
          ? `${formatEnergy(total)} (${exactEnergy(total)})`
          : isFuture
            ? 'not known yet'
            : 'no data',
      ],
      reference: other && comparableOf({ values: sumsAt(other, index) }, series),
    };
  });
  const peak = columns
    .map((column, index) => ({ time: times[index]!, wh: totalOf(column, series) ?? 0 }))
    .reduce((best, one) => (one.wh > best.wh ? one : best));
  return {
    series,
    columns,
    lastKnown: last < 0 ? undefined : times[last + 1],
    isWhole: last === profile.intervals - 1,
    peak: peak.wh > 0 ? peak : undefined,
    missing: columns.slice(0, Math.max(0, last)).filter(({ state }) => state === 'missing').length,
  };
}

interface Group extends BarSeries {
  keys: string[];
}

/**
 * Sources of one role are one series if there are too many of them, or if they share a picture with other
 * roles. Sources without a role are left out then, because other sources may contain them.
 */
function groupsOf(
  keys: readonly string[],
  roles: ReadonlyMap<string, BalanceRole>,
  nameOf: (key: string) => string,
  { energyWh }: Profile,
): Group[] {
  const present = stackedRoles.filter((role) => keys.some((key) => roles.get(key) === role));
  if (present.length > 1 || (present.length === 1 && keys.length > COLOURS))
    return present.map((role) => ({
      key: role,
      name: roleWords[role].name,
      tone: role,
      side: roleWords[role].side,
      keys: keys.filter((key) => roles.get(key) === role),
    }));
  const sumOf = (key: string) =>
    Math.abs((energyWh[key] ?? []).reduce<number>((sum, wh) => sum + (wh ?? 0), 0));
  const largest = keys.filter((key) => key !== OTHERS).sort((a, b) => sumOf(b) - sumOf(a));
  const chosen = new Set(keys.length > COLOURS ? largest.slice(0, COLOURS - 1) : largest);
  const own = keys.filter((key) => chosen.has(key));
  const others = keys.filter((key) => !chosen.has(key));
  return [
    ...own.map((key, index) => ({
      key,
      name: nameOf(key),
      tone: String(index + 1),
      side: 1 as const,
      keys: [key],
    })),
    ...(others.length > 0
      ? [
          {
            key: OTHERS,
            name: othersName(others),
            tone: 'others',
            side: 1 as const,
            keys: [...others],
          },
        ]
      : []),
  ];
}
