import { sumText } from '../../explain/describe-device.ts';
import { nearestText, plainDuration, plainNumber, timeOfDayFormat } from '../../explain/explain-words.ts';
import type {
  Explained,
  ExplainedDevice,
  ExplainedSource,
  Flag,
  Version,
} from '../../explain/explained-schema.ts';
import { formatCountOf } from '../../lib/format-count.ts';
import { SECOND_MS } from '../../lib/time.ts';
import { type Column, formatRows, formatTable, section } from '../terminal/format-table.ts';
import { describeEnergy } from './explain-energy-view.ts';
import { describeReadings, type ViewOptions, type WriteTime } from './readings-view.ts';

/** Formats an explanation for the terminal, with times in the workgroup's zone. */
export function describeExplained(explained: Explained, options: ViewOptions): string {
  const { name, device, day, timezone, hours, sources, takenIn, countingSources } = explained;
  const writeTime = timeWriter(explained);
  const title = `${name ? `${name} (${device})` : device}, ${day}, ${timezone}, ${plainNumber(hours)} h`;
  const lines = [`${title}\n${explained.text}\n`];
  if (takenIn.batchesWaiting > 0)
    lines.push(
      `${formatCountOf(takenIn.batchesWaiting, 'batch is', 'batches are')} not rolled up yet, so the energy can change\n`,
    );
  if (explained.wholeDevice && isWorthShowing(explained.wholeDevice))
    lines.push(describeDevice(explained.wholeDevice));
  const counts = ({ source }: ExplainedSource) => sources.length === 1 || countingSources.includes(source);
  for (const source of sources.filter(counts))
    lines.push(describeSource(source, explained, writeTime, options));
  for (const source of sources.filter((one) => !counts(one))) {
    const hint = `not part of the sum of the device; --source ${shellWord(source.source)} explains it`;
    lines.push(`${headingOf(source, writeTime)}\n  ${hint}\n`);
  }
  if (sources.length === 0) lines.push(describeKnown(explained, writeTime));
  return lines.join('\n');
}

function timeWriter({ day, timezone }: Explained): WriteTime {
  const clock = timeOfDayFormat(day, timezone);
  const at = (time: string) => clock(Date.parse(time));
  return Object.assign(at, {
    toSecond: (time: string) => clock(Math.floor(Date.parse(time) / SECOND_MS) * SECOND_MS),
  });
}

function shellWord(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** False for a device with one source and no settings, because source and device are then the same. */
function isWorthShowing({ sources, rule }: ExplainedDevice): boolean {
  return sources.length > 1 || rule !== 'no_role';
}

function describeDevice(wholeDevice: ExplainedDevice): string {
  const sum = sumText(wholeDevice);
  const flags = wholeDevice.flags.map(({ flag, reason }) => `${flag}: ${reason}\n`).join('');
  return section(
    'Device',
    `${wholeDevice.text}\n${formatTable(deviceColumns, wholeDevice.sources)}${sum === undefined ? '' : `${sum}\n`}${flags}`,
  );
}

const deviceColumns: Array<Column<ExplainedDevice['sources'][number]>> = [
  { title: '', value: ({ counts }) => (counts ? '*' : '') },
  { title: 'Source', value: ({ source }) => source },
  {
    title: 'Role',
    value: ({ role, negativeRole }) => [role ?? '-', negativeRole].filter(Boolean).join(' / '),
  },
  { title: 'Wh', value: ({ energyWh }) => (energyWh === null ? '-' : plainNumber(energyWh)), align: 'right' },
  { title: '', value: ({ reason }) => reason },
];

function headingOf({ source, result }: ExplainedSource, writeTime: WriteTime): string {
  const text = result
    ? `${plainNumber(result.energyWh)} Wh by ${result.method} of ${result.table}.${result.field}, ${result.status}, version ${result.version}, computed ${writeTime.toSecond(result.computedAt)}`
    : 'no energy';
  return `Source ${source}: ${text}`;
}

function describeSource(
  source: ExplainedSource,
  day: Pick<Explained, 'start' | 'end'>,
  writeTime: WriteTime,
  options: ViewOptions,
): string {
  return [
    `${headingOf(source, writeTime)}\n`,
    section(
      'What happened',
      source.events.map(({ kind, text }) => `${kind.replaceAll('_', ' ')}: ${text}\n`).join(''),
    ),
    section('Fields, in the order of the configuration', describeStreams(source)),
    section('Corrections', describeCorrections(source, writeTime)),
    section('Limits', describeLimits(source)),
    section('Readings', describeReadings(source, writeTime, options)),
    ...describeEnergy(source, day, writeTime, options),
    section('Sum', describeSum(source)),
    section('Coverage', `${source.coverage.text}\n`),
    section('Flags', source.flags.map((flag) => describeFlag(flag, source)).join('')),
    section(
      'Versions',
      source.versions.map((version) => describeVersion(version, source, writeTime)).join(''),
    ),
  ]
    .filter(Boolean)
    .join('\n');
}

/** Corrections, and the measured energy if it differs from the reported energy. */
function describeCorrections(
  { corrections, measuredWh, result }: ExplainedSource,
  writeTime: WriteTime,
): string {
  const lines = corrections.map(
    ({ id, text, author, at: time, reason }) =>
      `${id}  ${text}\n   by ${author}, ${writeTime.toSecond(time)}: ${reason}\n`,
  );
  const isTold = corrections.length > 0 && measuredWh !== (result?.energyWh ?? null);
  const measured = measuredWh === null ? 'nothing' : `${plainNumber(measuredWh)} Wh`;
  return lines.join('') + (isTold ? `Measured energy without corrections: ${measured}\n` : '');
}

const streamColumns: Array<Column<ExplainedSource['streams'][number]>> = [
  { title: '', value: ({ chosen }) => (chosen ? '*' : '') },
  { title: 'Field', value: fieldText },
  { title: 'Method', value: ({ method }) => method },
  { title: 'Unit', value: ({ unit }) => unit },
  { title: 'Wh', value: ({ energyWh }) => (energyWh === null ? '-' : plainNumber(energyWh)), align: 'right' },
  { title: '', value: ({ reason }) => reason },
];

function fieldText({ table, field, as }: { table: string; field: string; as: string | null }): string {
  return `${table}.${field}${as === null ? '' : `, as ${as}`}`;
}

/** Fields without readings of the source share one line. */
function describeStreams({ streams }: ExplainedSource): string {
  const silent = streams.filter(({ firstReading }) => firstReading === null);
  const names = silent.map(fieldText).join('; ');
  const read = streams.filter(({ firstReading }) => firstReading !== null);
  return formatTable(streamColumns, read) + (names && `without readings of this source: ${names}\n`);
}

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

/** The limits, and the maximum power of registers even if it has no limit. */
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
        align: 'right',
      },
      { value: ({ limit }) => limit.text },
    ],
    rows,
  );
}

/** The reason of a flag, unless the page already shows it as an event or as coverage. */
function describeFlag({ flag, meaning, reason }: Flag, { events, coverage }: ExplainedSource): string {
  const isTold = reason === coverage.text || events.some(({ text }) => reason.includes(text));
  return `${flag.replaceAll('_', ' ')}: ${meaning}${isTold || reason === '' ? '' : ` (${reason})`}\n`;
}

const BATCHES_SHOWN = 3;

function describeVersion(
  { version, energyWh, computedAt, text, causes, batches }: Version,
  { versions }: ExplainedSource,
  writeTime: WriteTime,
): string {
  const energy = energyWh === null ? 'withdrawn' : `${plainNumber(energyWh)} Wh`;
  const lines = [`${version}  ${energy}, computed ${writeTime.toSecond(computedAt)}: ${text}`];
  // A first version needs no list of its causes.
  if (versions.length > 1 || batches > 1) {
    for (const { batch, origin, landedAt, readings, from, to } of causes.slice(0, BATCHES_SHOWN)) {
      const when = from === to ? writeTime(from) : `${writeTime(from)} to ${writeTime(to)}`;
      lines.push(
        `   batch ${batch} from ${origin ?? '?'}, landed ${landedAt ? writeTime.toSecond(landedAt) : '?'}: ${formatCountOf(readings, 'reading')} of ${when}`,
      );
    }
    if (batches > BATCHES_SHOWN)
      lines.push(`   and ${formatCountOf(batches - BATCHES_SHOWN, 'more batch', 'more batches')}`);
  }
  return `${lines.join('\n')}\n`;
}

function describeSum({ sum, result }: ExplainedSource): string {
  const stored = result ? `${plainNumber(result.energyWh)} Wh are stored` : 'no energy is stored';
  return `${sum.text}\n${sum.agrees ? '' : `This does not agree with what is stored: ${stored}. Please report it.\n`}`;
}

/** The known facts of the device if the day has no energy. */
function describeKnown({ known, nearestDays, outcome }: Explained, writeTime: WriteTime): string {
  const table = formatTable(
    [
      { title: 'Source', value: ({ source }) => source },
      { title: 'Field', value: fieldText },
      { title: 'Method', value: ({ method }) => method },
      { title: 'First reading', value: ({ firstReading }) => writeTime(firstReading) },
      { title: 'Last reading', value: ({ lastReading }) => writeTime(lastReading) },
    ],
    known,
  );
  const near = outcome === 'unknown_source' ? '' : nearestText(nearestDays);
  return `${section('Readings of the device', known.length > 0 ? table : '')}${near && `\n${near}\n`}`;
}
