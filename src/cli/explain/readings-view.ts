import { plainNumber } from '../../explain/explain-words.ts';
import type { ExplainedReading, ExplainedSource } from '../../explain/explained-schema.ts';
import { formatCountOf } from '../../lib/format-count.ts';
import { type Column, formatTable } from '../terminal/format-table.ts';

/** How a page writes instants: as local time of its day, and with seconds for the time of processing. */
export interface WriteTime {
  (time: string): string;
  toSecond: (time: string) => string;
}

export interface ViewOptions {
  /** Show all rows. */
  all: boolean;
}

/** Rows at the ends and next to events are always shown. */
const ENDS_SHOWN = 2;
const SHOWN_MAX = 60;
/** All rows are shown if there are no more than this. */
const FEW_ITEMS = 12;

export type Row<Item> = { kind: 'item'; item: Item } | { kind: 'more'; count: number };

/** Leaves out rows without events. */
export function elide<Item>(
  items: readonly Item[],
  isSpecial: (item: Item, index: number) => boolean,
  { all }: ViewOptions,
): Row<Item>[] {
  const special = items.map(isSpecial);
  const isEnd = (index: number) => index < ENDS_SHOWN || index >= items.length - ENDS_SHOWN;
  const isShown = items.map(
    (_, index) =>
      all ||
      items.length <= FEW_ITEMS ||
      isEnd(index) ||
      special.slice(Math.max(0, index - 1), index + 2).some(Boolean),
  );
  const rows: Row<Item>[] = [];
  let count = 0;
  for (const [index, item] of items.entries()) {
    const last = rows.at(-1);
    if (isShown[index] && (all || count < SHOWN_MAX || isEnd(index))) {
      rows.push({ kind: 'item', item });
      count += 1;
    } else if (last?.kind === 'more') last.count += 1;
    else rows.push({ kind: 'more', count: 1 });
  }
  return rows;
}

/** Readings at the beginning, the end and at events. All readings if there are few. */
export function describeReadings(
  source: ExplainedSource,
  writeTime: WriteTime,
  options: ViewOptions,
): string {
  const { readings, readingsLeftOut, boundaries } = source;
  if (readings.length === 0) return '';
  const turns = turningTimes(source);
  const keyOf = ({ fate, reason, batch }: ExplainedReading) => `${fate} ${reason} ${batch}`;
  const rows = elide(
    readings,
    (reading, index) => {
      const next = readings[index + 1];
      const previous = readings[index - 1];
      return (
        turns.has(reading.time) ||
        reading.fate === 'rejected' ||
        (previous !== undefined && keyOf(previous) !== keyOf(reading)) ||
        (next !== undefined && keyOf(next) !== keyOf(reading))
      );
    },
    options,
  );
  const cell = (value: (reading: ExplainedReading) => string) => (row: Row<ExplainedReading>) =>
    row.kind === 'item' ? value(row.item) : '';
  const isOneBatch = readings.every(({ batch }) => batch === readings[0]!.batch);
  const columns: Array<Column<Row<ExplainedReading>>> = [
    { title: 'Time', value: (row) => (row.kind === 'item' ? writeTime(row.item.time) : '...') },
    {
      title: boundaries ? 'Wh' : unitOf(source),
      value: cell(({ value, text }) => (value === null ? sent(text) : plainNumber(value))),
      align: 'right',
    },
  ];
  if (readings.some(({ indexWh }) => indexWh !== null)) {
    const value = cell(({ indexWh }) => (indexWh === null ? '' : plainNumber(indexWh)));
    columns.push({ title: 'Index', value, align: 'right' });
  }
  columns.push({
    title: '',
    value: (row) =>
      row.kind === 'more'
        ? `${formatCountOf(row.count, 'more reading')} (--all shows them)`
        : fateText(row.item),
  });
  if (!isOneBatch) columns.push({ title: 'Landed', value: cell((reading) => landed(reading, writeTime)) });
  const more =
    readingsLeftOut > 0
      ? `${formatCountOf(readingsLeftOut, 'reading in the middle of the day is', 'readings in the middle of the day are')} left out\n`
      : '';
  const all = isOneBatch ? `all landed ${landed(readings[0]!, writeTime)}\n` : '';
  return formatTable(columns, rows) + more + all;
}

export function unitOf({ result }: ExplainedSource): string {
  return result?.method === 'interval_energy' ? 'Wh' : 'W';
}

/** The times when stretches and events begin and end, and the readings that boundaries use. */
function turningTimes({ events, segments, boundaries }: ExplainedSource): ReadonlySet<string> {
  const points = [boundaries?.start, boundaries?.end].flatMap((one) => [one?.before, one?.after]);
  return new Set([
    ...[...events, ...segments].flatMap(({ from, to }) => [from, to]),
    ...points.flatMap((point) => (point ? [point.time] : [])),
  ]);
}

function fateText({ fate, reason }: ExplainedReading): string {
  return [fate === 'used' ? '' : fate, reason?.replaceAll('_', ' ') ?? ''].filter(Boolean).join(': ');
}

/** The value as it was sent, in its own unit. */
function sent(text: string | null): string {
  return text === null ? '-' : JSON.stringify(text);
}

function landed({ landedAt, batch }: ExplainedReading, writeTime: WriteTime): string {
  return `${landedAt ? writeTime.toSecond(landedAt) : '?'}, batch ${batch}`;
}
