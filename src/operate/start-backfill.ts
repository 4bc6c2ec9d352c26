import { setTimeout as sleep } from 'node:timers/promises';
import type { BackfillJobState } from '../backfill/backfill-job.ts';
import type { ListedBackfill } from '../backfill/backfill-ledger.ts';
import type { BackfillRequest } from '../backfill/backfill-request.ts';
import { unavailable } from '../contract/stream-errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { AskOwner } from './ask-owner.ts';
import { backfillAnswer } from './backfill-answers.ts';
import type { BackfillAnswer } from './backfill-schemas.ts';

const LOOK_EVERY_MS = 100;
/** Planning asks the upstream for each gap. */
const PLANNED_WITHIN_MS = 30 * SECOND_MS;

/**
 * Starts a backfill, or continues an unfinished one with the same request.
 * @returns the backfill, when it is planned
 * @throws StreamError StorageUnavailable if another one runs, or it cannot be planned now
 */
export async function startBackfill(
  askOwner: AskOwner,
  workgroupId: string,
  request: BackfillRequest,
): Promise<BackfillAnswer> {
  await askOwner(workgroupId, 'backfillStart', { request });
  const untilMs = performance.now() + PLANNED_WITHIN_MS;
  for (;;) {
    const state = await askOwner(workgroupId, 'backfillState', undefined);
    const id = idOf(state);
    if (id !== undefined) {
      const listed = await askOwner(workgroupId, 'backfillList', undefined);
      const found = listed.find(({ backfillId }) => backfillId === id);
      if (found) return backfillAnswer(found, state.kind === 'running' ? state : undefined);
    }
    if (performance.now() > untilMs || state.kind === 'idle')
      throw unavailable(
        'the backfill is still being planned; the list of backfills shows it when it begins',
        2,
      );
    await sleep(LOOK_EVERY_MS);
  }
}

function idOf(state: BackfillJobState): number | undefined {
  switch (state.kind) {
    case 'idle':
      return undefined;
    case 'running':
      return state.progress.backfillId;
    case 'ended':
      return state.outcome.backfillId;
    default:
      return state satisfies never;
  }
}

type RunningBackfill = Extract<BackfillJobState, { kind: 'running' }>;

/** All backfills, and the backfill that a worker works on. */
export async function listWithProgress(
  askOwner: AskOwner,
  workgroupId: string,
): Promise<{ listed: ListedBackfill[]; running: RunningBackfill | undefined }> {
  const running = await runningBackfill(askOwner, workgroupId);
  const listed = await askOwner(workgroupId, 'backfillList', undefined);
  const isKnown = listed.every(
    ({ state, backfillId }) => state !== 'running' || backfillId === running?.progress.backfillId,
  );
  // The backfill may have begun between the two questions.
  return { listed, running: isKnown ? running : await runningBackfill(askOwner, workgroupId) };
}

async function runningBackfill(
  askOwner: AskOwner,
  workgroupId: string,
): Promise<RunningBackfill | undefined> {
  try {
    const state = await askOwner(workgroupId, 'backfillState', undefined);
    return state.kind === 'running' ? state : undefined;
  } catch {
    // The last backfill has failed. The list shows that it is interrupted.
    return undefined;
  }
}
