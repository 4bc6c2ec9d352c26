import { stringify } from 'yaml';
import type { WorkgroupConfig } from '../../config/config.ts';
import type { FieldStats } from '../../import/field-stats.ts';
import { type FieldUse, listFieldUses, usesAsText } from '../../import/field-uses.ts';
import type { FieldSummary, ImportSummary, MonthEnergy } from '../../import/import-summary.ts';
import { type SuggestedStream, suggestStreams } from '../../import/suggest-streams.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { nearest } from '../../lib/input-words.ts';
import { formatKwh } from '../terminal/format-numbers.ts';
import { formatTable } from '../terminal/format-table.ts';

/** The facts of an import that a user has to know besides its rows, as data and as text. */
export interface ImportNews extends Partial<Omit<ImportSummary, 'table' | 'fields'>> {
  table: string;
  fields: ReadonlyArray<
    Omit<FieldSummary, 'streams' | 'rejected'> &
      Partial<Pick<FieldSummary, 'rejected'>> & { streams: ReadonlyArray<FieldUse & { taken?: number }> }
  >;
  /** Problems, with what to do. */
  warnings: string[];
  /** Suggested energy streams. Only if no energy stream reads any field. */
  suggested?: SuggestedStream[];
}

type Asked = Pick<WorkgroupConfig, 'id' | 'energyStreams'>;

/** @param readStats reads the first rows of a file. It is called only if no field of the import is read */
export async function newsOfImport(
  summary: ImportSummary,
  workgroup: Asked,
  readStats: () => Promise<readonly FieldStats[]>,
): Promise<ImportNews> {
  if (!isUnread(summary)) return { ...summary, warnings: warningsOfImport(summary, workgroup) };
  const suggested = suggestStreams(await readStats());
  return { ...summary, warnings: warningsOfImport(summary, workgroup, suggested), suggested };
}

/** Why an import gives no energy, with what to do. @returns none if it gives energy */
export function warningsOfImport(
  summary: ImportSummary,
  workgroup: Asked,
  suggested: readonly SuggestedStream[] = [],
): string[] {
  if (!isUnread(summary)) return energyWarnings(summary);
  return [unreadWarning(summary, workgroup, { suggested, firstDay: summary.firstDay })];
}

/** True if there are fields, and no energy stream reads an amount from any. */
function isUnread({ fields }: Pick<ImportNews, 'fields'>): boolean {
  return fields.length > 0 && !fields.some(isAmount);
}

/** The same for a dry run: the fields that would be read, without energy. */
export function newsOfPreview(table: string, stats: readonly FieldStats[], workgroup: Asked): ImportNews {
  const uses = listFieldUses(table, workgroup.energyStreams);
  const fields = stats.map(({ field, values }) => ({ field, values, streams: uses.get(field) ?? [] }));
  if (!isUnread({ fields })) return { table, fields, warnings: [] };
  const suggested = suggestStreams(stats);
  return { table, fields, warnings: [unreadWarning({ table, fields }, workgroup, { suggested })], suggested };
}

function isAmount({ streams }: Pick<ImportNews['fields'][number], 'streams'>): boolean {
  return streams.some(({ isUnit }) => !isUnit);
}

const FIELDS_SHOWN_MAX = 12;

function energyWarnings({ fields, months }: ImportSummary): string[] {
  const read = fields.filter(isAmount);
  const taken = read.reduce((sum, { streams }) => sum + streams.reduce((own, one) => own + one.taken, 0), 0);
  const reasons = read.flatMap(({ field, rejected }) =>
    Object.entries(rejected).map(([reason, readings]) => `${field}: ${formatCount(readings)} ${reason}`),
  );
  if (taken === 0 && reasons.length > 0)
    return [
      `this import gives no energy. All readings of the fields that energy streams read were rejected (${reasons.join(', ')}).\n  "wattline status" explains what to change, and "SELECT * FROM rejected_reading" in the lake counts them, with samples.`,
    ];
  if (taken > 0 && months.length === 0)
    return [
      'this import gives no energy. Its readings were accepted, but a register needs two readings of a device and source, and power needs samples that lie close enough together.',
    ];
  return [];
}

function unreadWarning(
  { table, fields }: Pick<ImportNews, 'table' | 'fields'>,
  { id, energyStreams }: Asked,
  { suggested, firstDay }: { suggested: readonly SuggestedStream[]; firstDay?: string | null },
): string {
  const fieldNames = fields.slice(0, FIELDS_SHOWN_MAX).map(({ field }) => `"${field}"`);
  const more = fields.length > fieldNames.length ? ` and ${fields.length - fieldNames.length} more` : '';
  const tables = [...new Set(energyStreams.map((stream) => stream.table))];
  const own = energyStreams.filter((stream) => stream.table === table);
  const suggestion = own.length === 0 ? nearest(table, tables) : undefined;
  const reads = energyStreams.map(({ table: of, field }) => `${of}.${field}`);
  const lines = [
    `this import gives no energy. No energy stream reads any of its fields.`,
    `The rows are in table ${table}. Their fields are ${fieldNames.join(', ')}${more}.`,
    reads.length === 0
      ? `Workgroup ${id} has no energy streams.`
      : `The energy streams of workgroup ${id} read ${[...new Set(reads)].slice(0, FIELDS_SHOWN_MAX).join(', ')}.`,
    ...(suggestion === undefined
      ? []
      : [`Is table ${suggestion} meant? Then import the file again with --table ${suggestion}.`]),
    ...suggestionLines(table, suggested),
    ...(firstDay === undefined
      ? []
      : [
          `The rows are stored. Add energy streams, and run "wattline reload" or start the service: then they are read. After pipeline.keepMessages (2 days by default) also run "wattline backfill --source archive --from ${firstDay ?? '<day>'} --table ${table}".`,
        ]),
  ];
  return lines.join('\n  ');
}

function suggestionLines(table: string, suggested: readonly SuggestedStream[]): string[] {
  if (suggested.length === 0)
    return [
      'No field looks like energy or power by its name and values. docs/configuration.md explains energyStreams.',
    ];
  const lines = suggested.map(
    (stream) =>
      `    - ${streamText(table, stream)}   # ${stream.why}${stream.unit === undefined ? '; its name says no unit: write the right one' : ''}`,
  );
  const registers = suggested.filter(({ method }) => method !== 'power_curve');
  return [
    'These lines below energyStreams would read the fields. They are guessed from names and values: check method and unit.',
    ...lines,
    ...(registers.length > 1
      ? [
          'If a source has several fields, the first one that covers a day counts. If they are different amounts, such as production and import, give each its own source with as: <source>.',
        ]
      : []),
  ];
}

/** "config check" refuses this unit and lists the known ones, so nobody uses a wrong unit by accident. */
const UNKNOWN_UNIT = 'unknown';

function streamText(table: string, { field, method, unit, as }: SuggestedStream): string {
  const stream = { table, field, method, unit: unit ?? UNKNOWN_UNIT, ...(as !== undefined && { as }) };
  return stringify(stream, { collectionStyle: 'flow', lineWidth: 0 }).trim();
}

/** The fields that are read, and their energy. */
export function describeNews(news: ImportNews, columnsMax: number): string {
  const { fields, months } = news;
  if (fields.length === 0) return '';
  const table = formatTable(fieldColumns(news), fields, columnsMax);
  const reasons = fields.flatMap(({ field, rejected = {} }) =>
    Object.entries(rejected).map(
      ([reason, readings]) => `  ${field} rejected, ${reason}: ${formatCount(readings)}\n`,
    ),
  );
  return `\n${table}${reasons.join('')}${months ? describeMonths(news, months, columnsMax) : ''}`;
}

type NewsField = ImportNews['fields'][number];

function fieldColumns({ months }: ImportNews) {
  const right = 'right' as const;
  const sum = (numbers: number[]) => formatCount(numbers.reduce((total, one) => total + one, 0));
  const isDone = months !== undefined;
  return [
    { title: 'Field', value: ({ field }: NewsField) => field },
    {
      title: 'Values',
      value: ({ values }: NewsField) => (values === null ? '-' : formatCount(values)),
      align: right,
    },
    { title: 'Read by', value: ({ streams }: NewsField) => usesAsText(streams) },
    ...(isDone
      ? [
          {
            title: 'Taken',
            value: ({ streams }: NewsField) =>
              streams.some(({ isUnit }) => !isUnit) ? sum(streams.map(({ taken = 0 }) => taken)) : '-',
            align: right,
          },
          {
            title: 'Rejected',
            value: ({ streams, rejected = {} }: NewsField) =>
              streams.some(({ isUnit }) => !isUnit) ? sum(Object.values(rejected)) : '-',
            align: right,
          },
        ]
      : []),
  ];
}

/** Up to this number each source has its own rows. Sources are not added up, because they may be unlike. */
const SOURCES_SHOWN_MAX = 8;

function describeMonths(
  { firstDay, lastDay, devices = 0 }: ImportNews,
  months: readonly MonthEnergy[],
  columnsMax: number,
): string {
  if (months.length === 0) return '';
  const sources = new Set(months.map(({ source }) => source)).size;
  const rows = sources <= SOURCES_SHOWN_MAX ? months : addedSources(months);
  const table = formatTable(
    [
      { title: 'Month', value: ({ month }: MonthEnergy) => month },
      { title: 'Source', value: ({ source }: MonthEnergy) => source },
      { title: 'kWh', value: ({ energyWh }: MonthEnergy) => formatKwh(energyWh), align: 'right' },
      { title: 'Devices', value: (one: MonthEnergy) => formatCount(one.devices), align: 'right' },
      { title: 'Days', value: ({ days }: MonthEnergy) => formatCount(days), align: 'right' },
    ],
    rows,
    columnsMax,
  );
  const of = devices === 1 ? 'its device' : `its ${formatCount(devices)} devices`;
  return `\nEnergy of ${of} from ${firstDay} to ${lastDay}, the days of this import\n${table}`;
}

function addedSources(months: readonly MonthEnergy[]): MonthEnergy[] {
  return [...Map.groupBy(months, ({ month }) => month)].map(([month, list]) => ({
    month,
    source: `${formatCountOf(list.length, 'source')}, added`,
    energyWh: list.reduce((sum, { energyWh }) => sum + energyWh, 0),
    devices: Math.max(...list.map(({ devices }) => devices)),
    days: Math.max(...list.map(({ days }) => days)),
  }));
}
