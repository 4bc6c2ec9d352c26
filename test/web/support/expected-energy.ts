import type { Balances, DayDetails, DeviceStatuses, Profiles } from '../../../src/web/facts/answers.ts';
import {
  amount,
  balanceColumns,
  balanceValues,
  type Column,
  energyNote,
  figureLines,
  missingWords,
  roleNames,
  seriesColumns,
  sum,
  tableLines,
  type Wh,
} from './expected-figure.ts';
import { isMarked } from './expected-flags.ts';
import { ask } from './open-page.ts';
import { daysFrom, type Facts, namerOf } from './page-facts.ts';
import { clock, count, longDay, many, monthName, period, shortDay } from './plain-words.ts';
import { readLake } from './read-lake.ts';

interface Span {
  from: string;
  to: string;
}

const rangeOf = ({ from, to }: Span) => `startDate=${from}&endDate=${to}`;

/** The difference of two sums of the whole columns that both periods know, as a sentence. */
function comparedWords(
  name: string,
  now: readonly Wh[],
  before: readonly Wh[],
  other: string,
  one: string,
): string {
  const pairs = now.flatMap((wh, index) =>
    wh != null && before[index] != null ? [[wh, before[index]]] : [],
  );
  if (pairs.length === 0) return `There is nothing to compare with in ${other}. `;
  const [sumNow, sumBefore] = [0, 1].map((side) => pairs.reduce((total, pair) => total + pair[side]!, 0)) as [
    number,
    number,
  ];
  const change = ((sumNow - sumBefore) / sumBefore) * 100;
  return `${name} {${change}} in ${other}, over the ${many(pairs.length, `whole ${one}`)} that both have. `;
}

/** The energy page: the balance of days beside those of the period before. */
export async function balanceLines(id: string, span: Span, other: Span, facts: Facts): Promise<string[]> {
  const [balances, before, details] = await Promise.all([
    ask<Balances>(`${id}/balance?${rangeOf(span)}`),
    ask<Balances>(`${id}/balance?${rangeOf(other)}`),
    ask<DayDetails>(`${id}/daily-energy/details?${rangeOf(span)}&groupBy=source`),
  ]);
  const days = daysFrom(span.from, span.to);
  const columns = balanceColumns(days, balances, details, facts.today);
  const produced = columns.map(({ values }) => values[0]!);
  const producedWhole = produced.map((wh, index) => (days[index]! < facts.today ? wh : null));
  const producedBefore = daysFrom(other.from, other.to).map((day) => before[day]?.productionWh ?? null);
  const name = period(span.from, span.to);
  const otherName = period(other.from, other.to);
  const doubtful = markedDays(days, details, facts.today);
  return [
    name,
    `${amount(sum(produced))} produced, ${amount(sum(columns.map(({ values }) => values[3])))} used in ${name}. ${comparedWords('Production is', producedWhole, producedBefore, otherName, 'day')}${missingWords(columns, facts.today, doubtful)}`,
    ...figureLines({
      label: `Energy by day, ${name}`,
      wholeName: name,
      reference: [`Production, ${otherName}`, sum(producedBefore)],
      legend: [...roleNames],
      columns,
    }),
    ...tableLines(columns, roleNames),
  ];
}

const markedDays = (days: readonly string[], details: DayDetails, today: string) =>
  days.filter(
    (day) => day !== today && Object.values(details[day] ?? {}).some(({ flags }) => isMarked(flags)),
  ).length;

/**
 * The energy page: devices, sources, or the sources of one role, by day. The largest have a column each, the
 * others one together.
 */
export async function seriesLines(
  id: string,
  show: 'devices' | 'sources' | 'production',
  span: Span,
  facts: Facts,
): Promise<string[]> {
  const [details, statuses, balances] = await Promise.all([
    ask<DayDetails>(
      `${id}/daily-energy/details?${rangeOf(span)}${show === 'devices' ? '' : '&groupBy=source'}`,
    ),
    ask<DeviceStatuses>(`${id}/device-status`),
    ask<Balances>(`${id}/balance?${rangeOf(span)}`),
  ]);
  const producing = new Set(
    Object.values(balances).flatMap(({ parts }) =>
      parts.filter(({ role }) => role === 'production').map(({ device, source }) => `${device}.${source}`),
    ),
  );
  const days = daysFrom(span.from, span.to);
  const all = [...new Set(days.flatMap((day) => Object.keys(details[day] ?? {})))];
  const keys = show === 'production' ? all.filter((key) => producing.has(key)) : all;
  const ofSeries = (key: string) => sum(days.map((day) => details[day]?.[key]?.energyWh)) ?? 0;
  const largest = keys.toSorted((a, b) => ofSeries(b) - ofSeries(a));
  const own = largest.length <= 8 ? largest : largest.slice(0, 7);
  const others = largest.slice(own.length);
  const nameOf = namerOf(statuses);
  const columns = seriesColumns(days, largest, details, facts.today).map((column) => ({
    ...column,
    values: [
      ...column.values.slice(0, own.length),
      ...(others.length > 0 ? [sum(column.values.slice(own.length))] : []),
    ],
  }));
  const name = period(span.from, span.to);
  const totalOf = ({ values }: Column) => sum(values);
  const whole = sum(columns.map(totalOf));
  const by = { devices: 'device', sources: 'source', production: '' }[show];
  const legend = [...own.map(nameOf), ...(others.length > 0 ? [`${others.length} others`] : [])];
  return [
    name,
    `${amount(whole)} ${show === 'production' ? 'of production' : `by ${many(own.length, by)}${others.length > 0 ? ` and ${others.length} others` : ''}`} in ${name}. ${missingWords(columns, facts.today, markedDays(days, details, facts.today))}`,
    ...figureLines({
      label: `Energy by day, ${name}`,
      wholeName: name,
      whole,
      legend,
      columns,
    }),
    ...tableLines(columns, legend, totalOf),
  ];
}

/**
 * The energy page: 400 devices by month or by year, with another period beside it. The energy is read from
 * the lake.
 * @param length of the name of a column: 7 or 4
 */
export async function longPeriodLines(
  id: string,
  span: Span,
  other: Span | undefined,
  length: 7 | 4,
  facts: Facts,
): Promise<string[]> {
  const [energy, before, statuses] = await Promise.all([
    energyOfColumns(id, span, length),
    other && energyOfColumns(id, other, length),
    ask<DeviceStatuses>(`${id}/device-status`),
  ]);
  const periodName = period(span.from, span.to);
  const otherName = other ? period(other.from, other.to) : '';
  const nameOf = namerOf(statuses);
  const names = namesOf(span, length);
  const totals = new Map<string, number>();
  for (const { devices } of energy.values())
    for (const [device, wh] of devices) totals.set(device, (totals.get(device) ?? 0) + wh);
  const own = [...totals]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 7)
    .map(([device]) => device);
  const wholeOf = (found: EnergyOfColumn | undefined) => (found ? sum([...found.devices.values()]) : null);
  const one = length === 7 ? 'month' : 'year';
  const columns = names.map((name, index): Column => {
    const title = length === 7 ? monthName(name) : name;
    const found = energy.get(name);
    const whole = wholeOf(found);
    if (!found || whole === null) {
      const isBefore = names.slice(0, index).every((earlier) => !energy.has(earlier));
      const notes = [isBefore ? 'no data, and none before it in this period' : 'no data'];
      return {
        name: title,
        values: [...own, ''].map(() => null),
        notes,
        isMissing: !isBefore,
        isEmpty: isBefore,
      };
    }
    const ofOwn = own.map((device) => found.devices.get(device) ?? null);
    const all = daysFrom(span.from, [span.to, facts.today].sort()[0]!).filter((day) =>
      day.startsWith(name),
    ).length;
    const days = found.days < all ? [`${found.days} of ${many(all, 'day')} with data`] : [];
    return { name: title, values: [...ofOwn, whole - sum(ofOwn)!], notes: [energyNote(whole), ...days] };
  });
  // Of the running column today may be missing, which is no fault.
  const doubtful = columns.filter(
    ({ notes, name }) => notes.length > 1 && !facts.today.startsWith(name.slice(0, 4)),
  ).length;
  const begun = columns.filter(({ isEmpty }) => !isEmpty);
  const wholes = names.map((name) => wholeOf(energy.get(name)));
  const otherWholes =
    other && before ? namesOf(other, length).map((name) => wholeOf(before.get(name))) : undefined;
  /** The energy of the columns that are over and have all of their days. */
  const comparableOf = (found: Map<string, EnergyOfColumn>, of: Span) =>
    namesOf(of, length).map((name) => {
      const isWhole = name < facts.today.slice(0, length) && found.get(name)?.days === daysIn(name);
      return isWhole ? wholeOf(found.get(name)) : null;
    });
  const words = [
    `${amount(sum(wholes))} by 7 devices and all others ${span.to >= facts.today ? 'so far in' : 'in'} ${periodName}.`,
    begun.length < columns.length ? `The first data are of ${begun[0]!.name}.` : '',
    other && before
      ? comparedWords('That is', comparableOf(energy, span), comparableOf(before, other), otherName, one)
      : '',
    doubtful > 0
      ? `${many(doubtful, one)} ${doubtful === 1 ? 'is' : 'are'} marked: look before you trust ${doubtful === 1 ? 'it' : 'them'}.`
      : '',
  ];
  // The service adds up the others of large answers, and does not say how many they are.
  const legend = [...own.map(nameOf), 'all others'];
  return [
    periodName,
    words.filter(Boolean).join(' '),
    ...figureLines({
      label: `Energy by ${one}, ${periodName}`,
      wholeName: periodName,
      whole: sum(wholes),
      ...(otherWholes && { reference: [otherName, sum(otherWholes)] as [string, Wh] }),
      legend,
      columns,
    }),
    ...tableLines(columns, legend, ({ values }) => sum(values)),
  ];
}

interface EnergyOfColumn {
  /** With energy of any device. */
  days: number;
  devices: Map<string, number>;
}

/** The energy of each device in each month or year. */
async function energyOfColumns(id: string, { from, to }: Span, length: number) {
  const rows = await readLake(
    id,
    (files) => `
      WITH chosen AS (
        SELECT left(day::VARCHAR, ${length}) AS name, day, device, energy_wh
        FROM ${files('daily_energy')}
        WHERE day BETWEEN '${from}' AND '${to}'
      )
      SELECT name, device::VARCHAR, sum(energy_wh)::DOUBLE, any_value(days)::DOUBLE
      FROM chosen JOIN (SELECT name, count(DISTINCT day) AS days FROM chosen GROUP BY name) USING (name)
      GROUP BY ALL`,
  );
  const columns = new Map<string, EnergyOfColumn>();
  for (const [name, device, wh, days] of rows as Array<[string, string, number, number]>) {
    const column = columns.get(name) ?? { days, devices: new Map() };
    column.devices.set(device, wh);
    columns.set(name, column);
  }
  return columns;
}

/** The days of a month or a year. */
const daysIn = (name: string) =>
  name.length === 4
    ? daysFrom(`${name}-01-01`, `${name}-12-31`).length
    : new Date(Date.UTC(Number(name.slice(0, 4)), Number(name.slice(5)), 0)).getUTCDate();

const namesOf = ({ from, to }: Span, length: number) => [
  ...new Set(daysFrom(from, to).map((day) => day.slice(0, length))),
];

/** The day page of a site with a balance, beside another day. */
export async function dayLines(id: string, day: string, other: string, facts: Facts): Promise<string[]> {
  const quartersOf = (of: string) =>
    ask<Balances>(`${id}/balance?startDate=${of}&endDate=${of}&resolution=interval`);
  const [quarters, otherQuarters, profiles, statuses, details] = await Promise.all([
    quartersOf(day),
    quartersOf(other),
    ask<Profiles>(`${id}/interval-energy?startDate=${day}&endDate=${day}&groupBy=source`),
    ask<DeviceStatuses>(`${id}/device-status`),
    ask<DayDetails>(`${id}/daily-energy/details?startDate=${day}&endDate=${day}`),
  ]);
  const nameOf = namerOf(statuses);
  const { start, intervals } = profiles[day]!;
  const startMs = Date.parse(start);
  const byTime = new Map(Object.entries(quarters).map(([at, one]) => [Date.parse(at), one]));
  const nameAt = (ms: number) => `${clock(ms, facts.zone)} – ${clock(ms + 900_000, facts.zone)}`;
  const columns = Array.from({ length: intervals }, (_, index): Column => {
    const values = balanceValues(byTime.get(startMs + index * 900_000));
    const total = sum(values.slice(0, 3)) ?? null;
    return {
      name: nameAt(startMs + index * 900_000),
      values,
      notes: [total === null ? 'no data' : energyNote(total)],
    };
  });
  const totals = columns.map(({ values }) => sum(values.slice(0, 3)) ?? 0);
  const peak = totals.indexOf(Math.max(...totals));
  const marked = Object.entries(details[day]!)
    .filter(([, { flags }]) => isMarked(flags))
    .map(([key]) => key);
  const table = tableLines(columns, roleNames);
  const devices = [...new Set(Object.keys(profiles[day]!.energyWh).map((key) => key.slice(0, 36)))];
  return [
    longDay(day),
    `${shortDay(day)} is known to its end. The strongest quarter of an hour begins at ${columns[peak]!.name.split(' – ')[0]}, with {${totals[peak]}}.${marked.length > 0 ? ` ${listOf(marked.map(nameOf))} are marked: look before you trust them.` : ''}`,
    ...figureLines({
      label: `Energy of each 15 minutes, ${longDay(day)}`,
      wholeName: longDay(day),
      reference: [
        `Production, ${shortDay(other)}`,
        sum(Object.values(otherQuarters).map(({ productionWh }) => productionWh)),
      ],
      legend: [...roleNames],
      columns,
    }),
    ...devices.map((device) => `Why the number of ${nameOf(device)}${marked.includes(device) ? ' △' : ''}`),
    ...table.slice(0, 51),
    table.at(-1)!,
    `1 – 50 of ${count(intervals)}`,
  ];
}

const listOf = (words: readonly string[]) =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
