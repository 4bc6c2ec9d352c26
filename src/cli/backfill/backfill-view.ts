import type { ListedBackfill } from '../../backfill/backfill-ledger.ts';
import type { BackfillPlan } from '../../backfill/backfill-request.ts';
import type { OpenGap } from '../../backfill/plan-gaps.ts';
import type { BackfillOutcome, BackfillProgress } from '../../backfill/run-backfill.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import { formatInstant, type UtcMs } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import type { AsJson } from '../../worker-rpc/rpc-wire.ts';
import { formatTable } from '../terminal/format-table.ts';
import { bar, createLineView, followUpText, formatSeconds, wholePercent } from '../terminal/progress-view.ts';
import type { BackfillRunProgress } from './backfill-run.ts';

/** Shows the progress of a backfill. */
export function createBackfillView(terminal: Terminal, now: () => number) {
  const view = createLineView(terminal, now);
  let started: { atMs: number; part: number } | undefined;

  function text(run: BackfillRunProgress): string {
    if (run.kind === 'after') return followUpText(run.part);
    const { progress } = run;
    if (progress.backfillId === undefined) return 'asking for the available messages';
    // The speed counts only what this run has read.
    started ??= { atMs: now(), part: progress.part };
    return describeBackfillProgress(
      progress,
      started.part,
      (now() - started.atMs) / 1000,
      terminal.isInteractive,
    );
  }

  return { show: (run: BackfillRunProgress) => view.show(text(run)), clear: view.clear };
}

function describeBackfillProgress(
  { backfillId, part, messagesRead, messagesLanded }: AsJson<BackfillProgress>,
  partBefore: number,
  seconds: number,
  withBar: boolean,
): string {
  const words = [`backfill ${backfillId}`];
  if (withBar) words.push(bar(part));
  words.push(
    wholePercent(part),
    `${formatCountOf(messagesRead, 'message')} read, ${formatCount(messagesLanded)} new`,
  );
  if (seconds > 0) words.push(`${formatCount(Math.round(messagesRead / seconds))}/s`);
  if (part > partBefore) words.push(`${formatSeconds((seconds * (1 - part)) / (part - partBefore))} left`);
  return words.join('  ');
}

export function describeBackfillOutcome(outcome: AsJson<BackfillOutcome>): string {
  const { backfillId, messagesRead, messagesLanded, gapsFilled, notes, resumed } = outcome;
  const words = [
    `backfill ${backfillId}: ${formatCountOf(messagesRead, 'message')} read, ${formatCount(messagesLanded)} of them new`,
  ];
  if (gapsFilled.length > 0) words.push(`gaps closed: ${gapsFilled.join(', ')}`);
  if (resumed) words.push('continued where it had stopped');
  return [words.join('; '), ...notes.map((note) => `  ${note}`), ''].join('\n');
}

export function describePlan(plan: AsJson<BackfillPlan>): string {
  const { pieces, requests, days, messages, quarantined, notes } = plan;
  const table = formatTable(
    [
      { title: 'From', value: ({ fromMs }) => formatInstant(fromMs) },
      { title: 'To', value: ({ toMs }) => formatInstant(toMs) },
      { title: 'Gap', value: ({ gapId }) => (gapId === undefined ? '-' : String(gapId)), align: 'right' },
      {
        title: 'Messages',
        value: ({ messagesExpected }) =>
          messagesExpected === undefined ? '?' : formatCount(messagesExpected),
        align: 'right',
      },
    ],
    pieces,
  );
  const of = messages === undefined ? 'an unknown number of messages' : formatCountOf(messages, 'message');
  const cost =
    plan.source === 'archive'
      ? 'no request to the upstream'
      : `${formatCountOf(requests, 'request')} or more`;
  const range = days.length === 0 ? '' : `, days ${days[0]} to ${days.at(-1)} (${formatCount(days.length)})`;
  const again =
    quarantined && quarantined.kept > 0
      ? `  ${formatCount(quarantined.readable)} of ${formatCountOf(quarantined.kept, 'quarantined message')} can be decoded now\n`
      : '';
  const footer = `${again}${notes.map((note) => `  ${note}\n`).join('')}`;
  if (pieces.length === 0) return `nothing to read\n${footer}`;
  return `${table}${formatCountOf(pieces.length, 'piece')}, ${of}, ${cost}${range}\n${footer}`;
}

export function describeBackfills(listed: ReadonlyArray<AsJson<ListedBackfill>>, columnsMax: number): string {
  if (listed.length === 0) return 'no backfill yet\n';
  return formatTable(
    [
      { title: 'Id', value: (one) => String(one.backfillId), align: 'right' },
      { title: 'Source', value: (one) => one.source },
      { title: 'From', value: (one) => instant(one.fromMs) },
      { title: 'To', value: (one) => instant(one.toMs) },
      { title: 'Table', value: (one) => one.table ?? 'all' },
      { title: 'State', value: (one) => one.state },
      { title: 'Pieces', value: (one) => `${one.piecesDone}/${one.pieces}`, align: 'right' },
      { title: 'New messages', value: (one) => formatCount(one.messagesLanded), align: 'right' },
      { title: 'Started', value: (one) => formatInstant(one.startedAtMs) },
      { title: 'Moved', value: (one) => formatInstant(one.updatedAtMs) },
    ],
    listed,
    columnsMax,
  );
}

export function describeGaps(gaps: ReadonlyArray<AsJson<OpenGap>>, columnsMax: number): string {
  if (gaps.length === 0) return 'nothing is missing\n';
  const table = formatTable(
    [
      { title: 'Gap', value: (one) => String(one.gapId), align: 'right' },
      { title: 'From', value: (one) => instant(one.fromMs) },
      { title: 'To', value: (one) => instant(one.toMs) },
      { title: 'Reason', value: (one) => one.reason },
      { title: 'Upstream has', value: (one) => one.available },
      { title: 'Note', value: (one) => one.note ?? '' },
    ],
    gaps,
    columnsMax,
  );
  const isFillable = gaps.some(({ available }) => available !== 'nothing');
  return `${table}${isFillable ? '"wattline backfill --gaps" reads what the upstream still has\n' : ''}`;
}

function instant(ms: UtcMs | undefined): string {
  return ms === undefined ? '-' : formatInstant(ms);
}
