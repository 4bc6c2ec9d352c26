import type { z } from 'zod';
import type { BackfillJobState } from '../backfill/backfill-job.ts';
import type { ListedBackfill } from '../backfill/backfill-ledger.ts';
import type { BackfillPlan } from '../backfill/backfill-request.ts';
import type { OpenGap } from '../backfill/plan-gaps.ts';
import { formatInstant, formatInstantOrNull } from '../lib/time.ts';
import type { BackfillAnswer, backfillPlanSchema, gapsSchema } from './backfill-schemas.ts';
import type { ListRows } from './send-list.ts';

/** The newest gaps of an answer. */
const GAPS_LISTED_MAX = 200;
/** The first days of a plan. */
const PLAN_DAYS_MAX = 1_000;

export function gapsAnswer(gaps: readonly OpenGap[]): z.output<typeof gapsSchema> {
  const newest = gaps.slice(-GAPS_LISTED_MAX).toReversed();
  return {
    gaps: newest.map(({ gapId, reason, fromMs, toMs, detectedAtMs, available, note }) => ({
      id: gapId,
      reason,
      from: formatInstantOrNull(fromMs),
      to: formatInstantOrNull(toMs),
      detectedAt: formatInstant(detectedAtMs),
      available,
      note: note ?? null,
    })),
    total: gaps.length,
  };
}

export function gapRows({ gaps }: z.output<typeof gapsSchema>): ListRows {
  return {
    name: 'gaps',
    columns: ['gap', 'reason', 'from_time', 'to_time', 'detected_at', 'available', 'note'],
    rows: gaps.map(({ id, from, to, detectedAt, ...one }) => ({
      ...one,
      gap: id,
      from_time: from,
      to_time: to,
      detected_at: detectedAt,
    })),
  };
}

/** @param running the backfill that a worker works on */
export function backfillAnswer(
  backfill: ListedBackfill,
  running: Extract<BackfillJobState, { kind: 'running' }> | undefined,
): BackfillAnswer {
  const isRunning = backfill.state === 'running' && running?.progress.backfillId === backfill.backfillId;
  const progress = isRunning ? running.progress : undefined;
  return {
    id: backfill.backfillId,
    source: backfill.source,
    from: formatInstantOrNull(backfill.fromMs),
    to: formatInstantOrNull(backfill.toMs),
    table: backfill.table ?? null,
    state: backfill.state === 'running' && !progress ? 'interrupted' : backfill.state,
    note: backfill.note ?? null,
    startedAt: formatInstant(backfill.startedAtMs),
    updatedAt: formatInstant(backfill.updatedAtMs),
    pieces: backfill.pieces,
    piecesDone: backfill.piecesDone,
    gaps: backfill.gaps,
    messagesExpected: backfill.messagesExpected ?? null,
    messagesLanded: backfill.messagesLanded,
    progress: progress ? { part: progress.part, messagesRead: progress.messagesRead } : null,
  };
}

export function backfillRows(backfills: readonly BackfillAnswer[]): ListRows {
  return {
    name: 'backfills',
    columns: [
      ...([
        'backfill',
        'reads',
        'from_time',
        'to_time',
        'table_name',
        'state',
        'note',
        'started_at',
      ] as const),
      ...(['updated_at', 'pieces', 'pieces_done', 'gaps', 'messages_expected', 'messages_landed'] as const),
      'progress',
    ],
    rows: backfills.map(({ id, source, from, to, table, state, note, gaps, ...one }) => ({
      backfill: id,
      reads: source,
      from_time: from,
      to_time: to,
      table_name: table,
      state,
      note,
      started_at: one.startedAt,
      updated_at: one.updatedAt,
      pieces: one.pieces,
      pieces_done: one.piecesDone,
      gaps,
      messages_expected: one.messagesExpected,
      messages_landed: one.messagesLanded,
      progress: one.progress?.part ?? null,
    })),
  };
}

export function planAnswer(plan: BackfillPlan): z.output<typeof backfillPlanSchema> {
  return {
    source: plan.source,
    messages: plan.messages ?? null,
    requests: plan.requests,
    days: plan.days.slice(0, PLAN_DAYS_MAX),
    dayCount: plan.days.length,
    pieces: plan.pieces.map(({ fromMs, toMs, gapId, messagesExpected }) => ({
      from: formatInstant(fromMs),
      to: formatInstant(toMs),
      gap: gapId ?? null,
      messagesExpected: messagesExpected ?? null,
    })),
    notes: plan.notes,
    unfillable: plan.unfillable.map(({ gapId, note }) => ({ gap: gapId, note })),
    quarantined: plan.quarantined ?? null,
  };
}
