import { basename } from 'node:path';
import type { FileCounts } from '../../import/import-ledger.ts';
import type { ImportProgress } from '../../import/import-request.ts';
import type { Preview } from '../../import/preview-file.ts';
import { REJECTED_KEPT_MAX, type RejectedRow } from '../../import/rejections.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatInstant } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import type { AsJson } from '../../worker-rpc/rpc-wire.ts';
import { formatTable } from '../terminal/format-table.ts';
import { bar, createLineView, followUpText, formatSeconds, wholePercent } from '../terminal/progress-view.ts';
import type { ImportedFile, ImportRunProgress } from './import-run.ts';

/** Shows the progress of an import. */
export function createProgressView(terminal: Terminal, now: () => number) {
  const view = createLineView(terminal, now);
  const startedMs = new Map<string, number>();

  function text(progress: ImportRunProgress): string {
    if (progress.kind === 'after') return followUpText(progress.part);
    const key = `${progress.path} ${progress.progress.phase}`;
    const started = startedMs.get(key) ?? now();
    startedMs.set(key, started);
    return describeImportProgress(
      basename(progress.path),
      progress.progress,
      (now() - started) / 1000,
      terminal.isInteractive,
    );
  }

  return {
    show: (progress: ImportRunProgress) => view.show(text(progress)),
    clear: view.clear,
  };
}

function describeImportProgress(
  name: string,
  progress: AsJson<ImportProgress>,
  seconds: number,
  withBar: boolean,
): string {
  const { phase, bytesChecked, fileBytes, rowsRead, rowsRejected, rowsExpected } = progress;
  const part =
    phase === 'checking' ? ratio(bytesChecked, fileBytes) : rowsExpected && ratio(rowsRead, rowsExpected);
  const words = [name];
  if (withBar && part !== undefined) words.push(bar(part));
  if (part !== undefined) words.push(wholePercent(part));
  if (phase === 'checking') words.push('computing the checksum of the file');
  else {
    const rate = seconds > 0 ? rowsRead / seconds : 0;
    words.push(formatCountOf(rowsRead, 'row'), `${formatCount(Math.round(rate))}/s`);
    if (rowsExpected && rate > 0) words.push(`${formatSeconds((rowsExpected - rowsRead) / rate)} left`);
    if (rowsRejected > 0) words.push(`${formatCount(rowsRejected)} rejected`);
  }
  return words.join('  ');
}

function ratio(done: number, all: number): number {
  return all > 0 ? Math.min(1, done / all) : 1;
}

/** The result of the import of one file, as text. */
export function describeFile({ shownPath, outcome }: Omit<ImportedFile, 'path'>): string {
  const { counts } = outcome;
  const name = basename(shownPath);
  switch (outcome.kind) {
    case 'landed':
      return `${name}: ${describeCounts(counts)}${outcome.resumed ? ', gone on with where it had stopped' : ''}\n${describeRejected(counts, outcome.examples)}`;
    case 'landed-before':
      return `${name}: nothing to do, already imported at ${formatInstant(outcome.landedAtMs)} (${describeCounts(counts)})\n`;
    case 'nothing-usable':
      if (counts.rowsRejected === 0) return `${name}: nothing imported, the file has no rows\n`;
      return `${name}: nothing imported, ${counts.rowsRejected === 1 ? 'its only row was' : `all ${formatCount(counts.rowsRejected)} rows were`} rejected\n${describeRejected(counts, outcome.examples)}`;
    default:
      return outcome satisfies never;
  }
}

export function describePreview(
  path: string,
  { rows, counts, examples, firstTime, lastTime }: Preview,
): string {
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row.fields)))];
  const table = formatTable(
    [
      { title: 'Time', value: (row) => row.time },
      { title: 'Device', value: (row) => row.device },
      { title: 'Source', value: (row) => row.source ?? '-' },
      ...fields.map((field) => ({
        title: field,
        value: (row: (typeof rows)[number]) => String(row.fields[field] ?? '-'),
        align: 'right' as const,
      })),
    ],
    rows,
  );
  const range = firstTime === undefined ? '' : `, from ${firstTime} to ${lastTime}`;
  return `${basename(path)}: ${describeCounts(counts)}${range}\n${rows.length > 0 ? table : ''}${describeRejected(counts, examples)}`;
}

const SKIPPED_TIMES =
  '    clocks of the zone skip these times in spring. If the times are UTC, write zone: Etc/UTC in the mapping. If they are winter time all year, write the offset, such as zone: "+01:00"';

function describeCounts({
  rowsLanded,
  rowsRejected,
}: Pick<FileCounts, 'rowsLanded' | 'rowsRejected'>): string {
  return `${formatCountOf(rowsLanded, 'row')}, ${formatCount(rowsRejected)} rejected`;
}

function describeRejected({ rejected, rowsRejected }: FileCounts, examples: readonly RejectedRow[]): string {
  if (rowsRejected === 0) return '';
  const lines = Object.entries(rejected).flatMap(([reason, count]) => [
    `  ${reason}: ${formatCount(count)}`,
    ...examples
      .filter((one) => one.reason === reason)
      .map(({ detail, content }) => `    ${detail}  ${content.slice(0, 100)}`),
    ...(reason === 'no_such_local_time' ? [SKIPPED_TIMES] : []),
  ]);
  const quarantineNote =
    rowsRejected > REJECTED_KEPT_MAX ? `  the first ${REJECTED_KEPT_MAX} are in the quarantine\n` : '';
  const isNumbered = examples.some(({ detail }) => detail.startsWith('row '));
  const counting =
    isNumbered && rejected.malformed_row
      ? '  rows are counted without the header and without malformed ones\n'
      : '';
  return `${lines.join('\n')}\n${counting}${quarantineNote}`;
}
