import { type DestinationOfKind, destinationOf } from '../../config/export-settings.ts';
import type { Exports } from '../../exports/create-exports.ts';
import { type ExportRun, retryAdvice, runName } from '../../exports/export-ledger.ts';
import { type ExportState, exportState, nextRunMs } from '../../exports/list-exports.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatInstant, formatLocal, type UtcMs } from '../../lib/time.ts';
import { type Column, formatRows, formatTable, section } from '../terminal/format-table.ts';

/** An export as it is listed. */
interface ListedExport extends ExportState {
  workgroup: string;
  report: string;
  range: string;
  format: string;
  destination: string;
  /** The next due time. Null for an export without a schedule. */
  nextAt: string | null;
  nextLocal: string | null;
}

export function listedExports(exports: Exports, nowMs: UtcMs): Promise<ListedExport[]> {
  const listed = exports.list().map(async ({ config, workgroup, ledger }) => {
    const zone = config.timezone ?? workgroup.timezone;
    const nextMs = nextRunMs(config, zone, nowMs);
    return {
      ...(await exportState(config.id, ledger)),
      workgroup: workgroup.id,
      report: config.report,
      range: config.range,
      format: config.format,
      destination: inWords(destinationOf(config)),
      nextAt: nextMs === undefined ? null : formatInstant(nextMs),
      nextLocal: nextMs === undefined ? null : formatLocal(nextMs, zone),
    };
  });
  return Promise.all(listed);
}

/** Without secrets. */
function inWords({ kind, to }: DestinationOfKind): string {
  switch (kind) {
    case 'folder':
      return to;
    case 's3':
      return `s3://${to.bucket}/${to.prefix}`;
    case 'webhook':
      return `webhook at ${new URL(to.url).host}`;
    case 'email':
      return `mail to ${to.to.join(', ')}`;
    case 'homeAssistant':
      return `Home Assistant at ${new URL(to.url).host}`;
    default:
      return kind satisfies never;
  }
}

export function describeExports(listed: readonly ListedExport[], columnsMax: number): string {
  if (listed.length === 0) return '';
  const columns: Column<ListedExport>[] = [
    { title: 'Export', value: ({ id }) => id },
    { title: 'Report', value: ({ report }) => report },
    { title: 'Range', value: ({ range }) => range },
    { title: 'Format', value: ({ format }) => format },
    { title: 'Next', value: ({ nextLocal }) => nextLocal?.slice(0, 16) ?? 'by hand' },
    { title: 'Last', value: ({ lastRun }) => (lastRun ? runName(lastRun) : '-') },
    { title: 'State', value: ({ lastRun }) => lastRun?.state ?? '-' },
    { title: 'Waiting', value: ({ pending }) => String(pending), align: 'right' },
    { title: 'Failed', value: ({ failed }) => String(failed), align: 'right' },
    { title: 'Outdated', value: ({ outdated }) => String(outdated), align: 'right' },
    { title: 'To', value: ({ destination }) => destination },
  ];
  const notes = listed.flatMap(exportNotes).map((note) => `${note}\n`);
  return [formatTable(columns, listed, columnsMax), ...(notes.length > 0 ? ['\n', ...notes] : [])].join('');
}

const TROUBLED_SHOWN_MAX = 3;

/** Failed deliveries, and changes of the data after delivery. */
export function exportNotes({ id, troubled, outdated, outdatedWh }: ExportState): string[] {
  const more = troubled.length - TROUBLED_SHOWN_MAX;
  return [
    ...troubled
      .slice(-TROUBLED_SHOWN_MAX)
      .map((run) => `${id}, ${runName(run)}: ${run.lastError!.message}${retryOf(run)}`),
    ...(more > 0 ? [`${id}: ${more} more have failed; "wattline exports show ${id}" lists them`] : []),
    ...(outdated > 0
      ? [
          `${id}: ${outdated === 1 ? 'the data of a file have' : `the data of ${outdated} files have`} changed after delivery by ${signed(outdatedWh)} Wh; "wattline exports show ${id}" lists them, and "wattline exports run ${id} --period <period> --corrected" makes a new one`,
        ]
      : []),
  ];
}

/** One block for each run. */
export function describeRuns(runs: readonly ExportRun[]): string {
  if (runs.length === 0) return '';
  const right = 'right' as const;
  return formatTable<ExportRun>(
    [
      { title: 'Run', value: runName },
      { title: 'State', value: ({ state }) => state },
      { title: 'Rows', value: ({ file }) => whole(file?.rows), align: right },
      { title: 'Wh', value: ({ file }) => whole(file?.energyWh), align: right },
      { title: 'Bytes', value: ({ file }) => whole(file?.bytes), align: right },
      { title: 'Generation', value: ({ file }) => (file ? String(file.generation) : '-'), align: right },
      { title: 'Attempts', value: ({ attempts }) => String(attempts), align: right },
      {
        title: 'Delivered (UTC)',
        value: ({ delivered }) => delivered?.at.slice(0, 19).replace('T', ' ') ?? '-',
      },
      { title: 'File', value: ({ file }) => file?.name ?? '-' },
      { title: 'Remark', value: remarkOn },
    ],
    runs,
  );
}

/** All details of a run. */
export function describeRun(run: ExportRun): string {
  const { file, delivered, lastError, outdated } = run;
  const lines: Array<[string, string]> = [
    ['export', `${run.exportId} ${runName(run)}, ${run.reason}`],
    ['days', `${run.startDay} to ${run.endDay}`],
    ['state', run.state],
    ...(file
      ? ([
          ['file', file.name],
          [
            'holds',
            `${formatCountOf(file.rows, 'row')}, ${whole(file.energyWh)} Wh, ${whole(file.bytes)} bytes`,
          ],
          ['generation', String(file.generation)],
          ['sha256', file.sha256],
        ] as Array<[string, string]>)
      : []),
    ...(delivered ? ([['delivered', `${delivered.at} to ${delivered.to}`]] as Array<[string, string]>) : []),
    ...(lastError
      ? ([['failed', `${lastError.at}: ${lastError.message}${retryOf(run)}`]] as Array<[string, string]>)
      : []),
  ];
  const facts = formatRows<[string, string]>(
    [{ value: ([name]) => name }, { value: ([, text]) => text }],
    lines,
  );
  if (!outdated) return facts;
  const changes = formatTable(
    [
      { title: 'Day', value: ({ day }) => day },
      { title: 'Exported Wh', value: ({ beforeWh }) => whole(beforeWh), align: 'right' },
      { title: 'Now Wh', value: ({ afterWh }) => whole(afterWh), align: 'right' },
    ],
    outdated.days,
  );
  return `${facts}${section(`changed since (seen ${outdated.since})`, changes)}`;
}

function remarkOn({ outdated, lastError, state }: ExportRun): string {
  if (state !== 'delivered') return lastError?.message ?? '';
  if (!outdated) return '';
  const { days } = outdated;
  const changeWh = sum(days.map(({ beforeWh, afterWh }) => (afterWh ?? 0) - (beforeWh ?? 0)));
  return `outdated: ${days.length === 1 ? days[0]!.day : `${days.length} days`}, ${signed(changeWh)} Wh`;
}

function retryOf(run: ExportRun): string {
  const next = retryAdvice(run);
  return next === undefined ? '' : `; ${next}`;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const whole = (value: number | null | undefined) =>
  value === null || value === undefined ? '-' : formatCount(value);
const signed = (value: number) => `${value > 0 ? '+' : ''}${formatCount(value)}`;
