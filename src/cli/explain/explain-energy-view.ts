import { plainDuration, plainNumber } from '../../explain/explain-words.ts';
import type { Explained, ExplainedSource, Interval, Part } from '../../explain/explained-schema.ts';
import { formatCountOf } from '../../lib/format-count.ts';
import { formatInstant, HOUR_MS, INTERVAL_MS } from '../../lib/time.ts';
import { formatRows, formatTable, section } from '../terminal/format-table.ts';
import { elide, type Row, type ViewOptions, type WriteTime } from './readings-view.ts';

/** The steps from readings to the energy of the day, with numbers that add up. */
export function describeEnergy(
  source: ExplainedSource,
  day: Pick<Explained, 'start' | 'end'>,
  writeTime: WriteTime,
  options: ViewOptions,
): string[] {
  if (source.boundaries)
    return [describeBoundaries(source.boundaries, writeTime), describeSegments(source, writeTime)];
  if (source.intervals.length === 0) return [];
  return [
    section('Energy by the hour', describeHours(source.intervals, day, writeTime)),
    options.all ? describeParts(source, writeTime, options) : '',
  ];
}

function describeBoundaries(
  { start, end }: NonNullable<ExplainedSource['boundaries']>,
  writeTime: WriteTime,
): string {
  const table = formatRows(
    [
      { value: ({ time }) => writeTime(time) },
      { value: ({ indexWh }) => (indexWh === null ? '-' : plainNumber(indexWh)), align: 'right' },
      {
        value: ({ indexWh, roundedWh }) =>
          roundedWh === null || roundedWh === indexWh ? '' : `rounded ${plainNumber(roundedWh)}`,
      },
      { value: ({ how }) => how.replaceAll('_', ' ') },
      { value: ({ text }) => text },
    ],
    [start, end],
  );
  return section('Index where the day begins and ends (Wh)', table);
}

function describeSegments({ segments }: ExplainedSource, writeTime: WriteTime): string {
  if (segments.length === 0) return '';
  const table = formatTable(
    [
      { title: 'From', value: ({ from }) => writeTime(from) },
      { title: 'To', value: ({ to }) => writeTime(to) },
      { title: 'Index', value: ({ fromWh }) => plainNumber(fromWh), align: 'right' },
      { title: 'to', value: ({ toWh }) => plainNumber(toWh), align: 'right' },
      { title: 'Wh', value: ({ energyWh }) => plainNumber(energyWh), align: 'right' },
      { title: 'Begins', value: ({ begins }) => begins },
    ],
    segments,
  );
  return section('Stretches of growth', table);
}

interface Stretch {
  fromMs: number;
  toMs: number;
  energyWh: number;
  measuredMs: number;
}

/**
 * The energy of each hour. Neighbouring hours without energy share a line if they were measured in the same
 * way.
 */
function describeHours(
  intervals: readonly Interval[],
  { start, end }: Pick<Explained, 'start' | 'end'>,
  writeTime: WriteTime,
): string {
  const byStart = new Map(intervals.map((one) => [Date.parse(one.start), one]));
  const hours: Stretch[] = [];
  for (let fromMs = Date.parse(start); fromMs < Date.parse(end); fromMs += INTERVAL_MS) {
    const { energyWh = 0, exactWh = null, coveredMilliseconds = 0 } = byStart.get(fromMs) ?? {};
    let hour = hours.at(-1);
    if (!hour || fromMs % HOUR_MS === 0) {
      hour = { fromMs, toMs: fromMs, energyWh: 0, measuredMs: 0 };
      hours.push(hour);
    }
    hour.toMs += INTERVAL_MS;
    hour.energyWh += exactWh === null ? energyWh : Number(exactWh);
    hour.measuredMs += coveredMilliseconds;
  }
  return formatTable(
    [
      { title: 'From', value: ({ fromMs }) => writeTime(formatInstant(fromMs)) },
      { title: 'To', value: ({ toMs }) => writeTime(formatInstant(toMs)) },
      { title: 'Wh', value: ({ energyWh }) => plainNumber(roundNano(energyWh)), align: 'right' },
      { title: '', value: measured },
    ],
    hours.reduce(joinQuiet, []),
  );
}

function joinQuiet(joined: Stretch[], hour: Stretch): Stretch[] {
  const last = joined.at(-1);
  const isQuiet = (one: Stretch) => one.energyWh === 0 && [0, lengthOf(one)].includes(one.measuredMs);
  if (last && isQuiet(last) && isQuiet(hour) && (last.measuredMs === 0) === (hour.measuredMs === 0)) {
    last.toMs = hour.toMs;
    last.measuredMs += hour.measuredMs;
  } else joined.push(hour);
  return joined;
}

function lengthOf({ fromMs, toMs }: Stretch): number {
  return toMs - fromMs;
}

function measured(stretch: Stretch): string {
  if (stretch.measuredMs === lengthOf(stretch)) return '';
  return stretch.measuredMs === 0 ? 'not measured' : `${plainDuration(stretch.measuredMs)} of it measured`;
}

/** Rounds away binary errors of sums of decimals. */
function roundNano(wh: number): number {
  return Math.round(wh * 1e9) / 1e9;
}

function describeParts(source: ExplainedSource, writeTime: WriteTime, options: ViewOptions): string {
  const { parts, partsLeftOut } = source;
  const of = (value: (part: Part) => string) => (row: Row<Part>) =>
    row.kind === 'item' ? value(row.item) : '';
  const table = formatTable(
    [
      { title: 'From', value: of(({ from }) => writeTime(from)) },
      { title: 'To', value: of(({ to }) => writeTime(to)) },
      { title: 'W', value: of(({ fromW }) => plainNumber(fromW)), align: 'right' },
      { title: 'to W', value: of(({ toW }) => plainNumber(toW)), align: 'right' },
      { title: 'Wh', value: of(({ energyWh }) => plainNumber(energyWh)), align: 'right' },
      { title: '', value: of(({ covered }) => (covered ? '' : 'not integrated')) },
    ],
    elide(parts, ({ covered }) => !covered, options),
  );
  const more =
    partsLeftOut > 0
      ? `${formatCountOf(partsLeftOut, 'part in the middle of the day is', 'parts in the middle of the day are')} left out\n`
      : '';
  const title =
    source.result?.method === 'interval_energy'
      ? 'The energy of each interval as constant power, cut at quarters of an hour'
      : 'Area under the power, cut at quarters of an hour';
  return section(title, table + more);
}
