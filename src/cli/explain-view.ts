import type { Explained, ExplainedSource, Reading, Version } from '../explain/explained.ts';
import { clockOf, counted, plainDuration, plainNumber } from '../explain/words.ts';
import { type Column, formatTable } from './table.ts';

export interface ViewOptions {
  /** Every row, however many there are. */
  all: boolean;
}

/** An explanation as a page for the terminal, with times in the workgroup's zone. */
export function describeExplained(explained: Explained, options: ViewOptions): string {
  const { name, device, day, timezone, hours, sources, takenIn } = explained;
  const clock = clockOf(day, timezone);
  const at = (time: string) => clock(Date.parse(time));
  const title = `${name ? `${name} (${device})` : device}, ${day}, ${timezone}, ${plainNumber(hours)} h`;
  const lines = [`${title}\n${explained.text}\n`];
  if (takenIn.batchesWaiting > 0)
    lines.push(
      `${counted(takenIn.batchesWaiting, 'message batch')} not rolled up yet, so this may change\n`.replace(
        'batchs',
        'batches',
      ),
    );
  if (sources.length > 1 && explained.energyWh !== null) lines.push(`${deviceSum(explained)}\n`);
  for (const source of sources) lines.push(describeSource(source, at, options));
  if (sources.length === 0) lines.push(describeKnown(explained));
  return lines.join('\n');
}

type At = (time: string) => string;

function deviceSum({ sources, countingSources, energyWh }: Explained): string {
  const terms = sources.flatMap(({ source, result }) =>
    result && countingSources.includes(source) ? [`${plainNumber(result.energyWh)} (${source})`] : [],
  );
  const others = sources.map(({ source }) => source).filter((source) => !countingSources.includes(source));
  const note = others.length > 0 ? `; not added up: ${others.join(', ')}` : '';
  return `${terms.join(' + ')} = ${plainNumber(energyWh ?? 0)} Wh${note}`;
}

function describeSource(one: ExplainedSource, at: At, options: ViewOptions): string {
  const { result } = one;
  const heading = result
    ? `${plainNumber(result.energyWh)} Wh by ${result.method} of ${result.table}.${result.field}, ${result.status}, version ${result.version}, computed ${at(result.computedAt)}`
    : 'no energy';
  return [
    `Source ${one.source}: ${heading}\n`,
    section('Fields, in the order of the configuration', formatTable(streamColumns, one.streams)),
    section('Limits', describeLimits(one)),
    section(`Readings (${one.boundaries ? 'Wh' : unitOf(one)})`, describeReadings(one, at, options)),
    section('What happened', one.events.map(({ kind, text }) => `${kind}: ${text}\n`).join('')),
    describeEnergy(one, at, options),
    section('Coverage', `${one.coverage.text}\n`),
    section(
      'Flags',
      one.flags
        .map(({ flag, meaning, reason }) => `${flag}: ${meaning}${reason && ` (${reason})`}\n`)
        .join(''),
    ),
    section('Versions', one.versions.map((version) => describeVersion(version, at)).join('')),
    section('Sum', describeSum(one)),
  ]
    .filter(Boolean)
    .join('\n');
}

/** Nothing where there is nothing to say. */
function section(title: string, text: string): string {
  return text && `${title}\n${text.replace(/^(?=.)/gm, '  ')}`;
}

function unitOf({ result }: ExplainedSource): string {
  return result?.method === 'interval_energy' ? 'Wh' : 'W';
}

const right = 'right' as const;
const streamColumns: Array<Column<ExplainedSource['streams'][number]>> = [
  { title: '', value: ({ chosen }) => (chosen ? '*' : '') },
  { title: 'Field', value: ({ table, field }) => `${table}.${field}` },
  { title: 'Method', value: ({ method }) => method },
  { title: 'Unit', value: ({ unit }) => unit },
  { title: 'Wh', value: ({ energyWh }) => (energyWh === null ? '-' : plainNumber(energyWh)), align: right },
  { title: '', value: ({ reason }) => reason },
];

const limitNames: ReadonlyArray<
  [key: keyof NonNullable<ExplainedSource['limits']>, name: string, unit: string]
> = [
  ['maxPowerW', 'most power', 'W'],
  ['jitterWh', 'jitter', 'Wh'],
  ['resolutionWh', 'resolution', 'Wh'],
  ['modulusWh', 'modulus', 'Wh'],
  ['maxGapMilliseconds', 'longest gap', ''],
  ['intervalMilliseconds', 'interval', ''],
];

/** The limits that there are, and the most power of registers also where there is none. */
function describeLimits({ limits, boundaries }: ExplainedSource): string {
  if (!limits) return '';
  const rows = limitNames
    .map(([key, name, unit]) => ({ key, name, unit, limit: limits[key] }))
    .filter(({ key, limit }) => limit.value !== null || (key === 'maxPowerW' && boundaries !== null));
  return formatRows(
    [
      { value: ({ name }) => name },
      {
        value: ({ limit: { value }, unit }) =>
          value === null ? '-' : unit ? `${plainNumber(value)} ${unit}` : plainDuration(value),
        align: right,
      },
      { value: ({ limit }) => limit.text },
    ],
    rows,
  );
}

/** A table without titles. */
function formatRows<Row>(columns: ReadonlyArray<Omit<Column<Row>, 'title'>>, rows: readonly Row[]): string {
  const table = formatTable(
    columns.map((column) => ({ title: '', ...column })),
    rows,
  );
  return table.slice(table.indexOf('\n') + 1);
}

/** Readings at the ends, and around what is special, are shown also where there are too many. */
const ENDS_SHOWN = 4;
const READINGS_SHOWN_MAX = 60;

type Row<Item> = { kind: 'item'; item: Item } | { kind: 'more'; count: number };

/** Leaves out what is plain between what is not. */
function elide<Item>(
  items: readonly Item[],
  isSpecial: (item: Item) => boolean,
  { all }: ViewOptions,
): Row<Item>[] {
  const shown = items.map(
    (_, index) =>
      all ||
      items.length <= 3 * ENDS_SHOWN ||
      index < ENDS_SHOWN ||
      index >= items.length - ENDS_SHOWN ||
      items.slice(Math.max(0, index - 1), index + 2).some(isSpecial),
  );
  const rows: Row<Item>[] = [];
  let count = 0;
  for (const [index, item] of items.entries()) {
    const last = rows.at(-1);
    if (shown[index] && (all || count < READINGS_SHOWN_MAX || index >= items.length - ENDS_SHOWN)) {
      rows.push({ kind: 'item', item });
      count += 1;
    } else if (last?.kind === 'more') last.count += 1;
    else rows.push({ kind: 'more', count: 1 });
  }
  return rows;
}

function describeReadings(
  { readings, readingsLeftOut, boundaries }: ExplainedSource,
  at: At,
  options: ViewOptions,
): string {
  if (readings.length === 0) return '';
  const isSpecial = ({ fate, reason }: Reading) => fate !== 'used' || reason !== null;
  const of = (value: (reading: Reading) => string) => (row: Row<Reading>) =>
    row.kind === 'item' ? value(row.item) : '';
  const columns: Array<Column<Row<Reading>>> = [
    { title: 'Time', value: (row) => (row.kind === 'item' ? at(row.item.time) : '...') },
    {
      title: 'Value',
      value: of(({ value, text }) => (value === null ? (text ?? '-') : plainNumber(value))),
      align: right,
    },
    {
      title: boundaries ? 'Index' : '',
      value: of(({ indexWh }) => (indexWh === null ? '' : plainNumber(indexWh))),
      align: right,
    },
    {
      title: '',
      value: (row) =>
        row.kind === 'more'
          ? `${counted(row.count, 'more reading')} (--all shows them)`
          : [row.item.fate === 'used' ? '' : row.item.fate, row.item.reason?.replaceAll('_', ' ') ?? '']
              .filter(Boolean)
              .join(': '),
    },
    {
      title: 'Landed',
      value: of(({ landedAt, batch }) => `${landedAt ? at(landedAt) : '?'}, batch ${batch}`),
    },
  ];
  const more =
    readingsLeftOut > 0 ? `and ${counted(readingsLeftOut, 'more reading')}, too many to tell\n` : '';
  return formatTable(columns, elide(readings, isSpecial, options)) + more;
}

function describeEnergy(
  { boundaries, segments, parts, partsLeftOut }: ExplainedSource,
  at: At,
  options: ViewOptions,
): string {
  if (boundaries) {
    const index = (value: number | null) => (value === null ? '-' : plainNumber(value));
    const ends = formatRows(
      [
        { value: ({ time }) => at(time) },
        { value: ({ indexWh }) => index(indexWh), align: right },
        { value: ({ roundedWh }) => (roundedWh === null ? '' : `-> ${plainNumber(roundedWh)}`) },
        { value: ({ how }) => how.replaceAll('_', ' ') },
        { value: ({ text }) => text },
      ],
      [boundaries.start, boundaries.end],
    );
    const stretches = formatTable(
      [
        { title: 'From', value: ({ from }) => at(from) },
        { title: 'To', value: ({ to }) => at(to) },
        { title: 'Index', value: ({ fromWh }) => plainNumber(fromWh), align: right },
        { title: 'to', value: ({ toWh }) => plainNumber(toWh), align: right },
        { title: 'Wh', value: ({ energyWh }) => plainNumber(energyWh), align: right },
        { title: '', value: ({ begins }) => begins },
      ],
      segments,
    );
    return `${section('Index where the day begins and ends', ends)}\n${section('Stretches of growth', segments.length > 0 ? stretches : '')}`;
  }
  if (parts.length === 0) return '';
  const columns: Array<Column<Row<ExplainedSource['parts'][number]>>> = [
    { title: 'From', value: (row) => (row.kind === 'item' ? at(row.item.from) : '...') },
    { title: 'To', value: (row) => (row.kind === 'item' ? at(row.item.to) : '') },
    { title: 'W', value: (row) => (row.kind === 'item' ? plainNumber(row.item.fromW) : ''), align: right },
    { title: 'to W', value: (row) => (row.kind === 'item' ? plainNumber(row.item.toW) : ''), align: right },
    {
      title: 'Wh',
      value: (row) => (row.kind === 'item' ? plainNumber(row.item.energyWh) : ''),
      align: right,
    },
    {
      title: '',
      value: (row) =>
        row.kind === 'more'
          ? `${counted(row.count, 'more part')} (--all shows them)`
          : row.item.covered
            ? ''
            : 'not integrated',
    },
  ];
  const more = partsLeftOut > 0 ? `and ${counted(partsLeftOut, 'more part')}, too many to tell\n` : '';
  return section(
    'Area under the power, cut at quarters of an hour',
    formatTable(
      columns,
      elide(parts, ({ covered }) => !covered, options),
    ) + more,
  );
}

function describeVersion({ version, energyWh, computedAt, text, causes, batches }: Version, at: At): string {
  const lines = [
    `${version}  ${energyWh === null ? 'withdrawn' : `${plainNumber(energyWh)} Wh`}, computed ${at(computedAt)}: ${text}`,
  ];
  for (const { batch, origin, landedAt, readings, from, to } of causes.slice(0, 3)) {
    lines.push(
      `   batch ${batch} from ${origin ?? '?'}, landed ${landedAt ? at(landedAt) : '?'}: ${counted(readings, 'reading')} of ${at(from)} to ${at(to)}`,
    );
  }
  if (batches > 3) lines.push(`   and ${counted(batches - 3, 'more batch').replace('batchs', 'batches')}`);
  return `${lines.join('\n')}\n`;
}

function describeSum({ sum, result }: ExplainedSource): string {
  const stored = result ? `${plainNumber(result.energyWh)} Wh are stored` : 'no energy is stored';
  return `${sum.text}\n${sum.agrees ? '' : `This does not agree with what is stored: ${stored}. Please report it.\n`}`;
}

function describeKnown({ known, nearestDays, timezone, day }: Explained): string {
  const clock = clockOf(day, timezone);
  const at = (time: string) => clock(Date.parse(time));
  const near = [
    nearestDays.before && `the last day with energy before it is ${nearestDays.before}`,
    nearestDays.after && `the first one after it is ${nearestDays.after}`,
  ].filter(Boolean);
  const table = formatTable(
    [
      { title: 'Source', value: ({ source }) => source },
      { title: 'Field', value: ({ table, field }) => `${table}.${field}` },
      { title: 'Method', value: ({ method }) => method },
      { title: 'First reading', value: ({ firstReading }) => at(firstReading) },
      { title: 'Last reading', value: ({ lastReading }) => at(lastReading) },
    ],
    known,
  );
  return `${section('Readings of the device', known.length > 0 ? table : '')}${near.length > 0 ? `\n${near.join('; ')}\n` : ''}`;
}
