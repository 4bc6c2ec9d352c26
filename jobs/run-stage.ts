import { errorMessage, isRetryable, TransientError } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { SECOND_MS } from '../src/lib/time.ts';
import { failureWords } from '../src/pipeline/failure-words.ts';
import type { StageProgress } from './stage-health.ts';
import type { StageDefinition, StageResult, StageRun, StageWork } from './stages.ts';

/**
 * Runs a stage once, within its time limit, and records the result.
 * @param stopSignal aborts when the worker stops or loses the shard; later errors do not count
 * @returns the result of the stage; undefined if it ended because of `stopSignal`
 * @throws the error of the stage, after logging it
 */
export async function runStage(
  definition: StageDefinition,
  run: {
    stages: StageWork;
    workgroupId: string;
    progress: StageProgress;
    logger: Logger;
    onEnded?: ((run: StageRun) => void) | undefined;
  },
  stopSignal: AbortSignal,
): Promise<unknown> {
  const { stages, workgroupId, progress, logger, onEnded } = run;
  const { stage, timeLimitMs } = definition;
  if (stopSignal.aborted) return undefined;
  // Not `AbortSignal.any`: if a stage leaves a listener on it, it stays in memory as long as `stopSignal`.
  const controller = new AbortController();
  const stop = () => controller.abort(stopSignal.reason);
  const timeLimit = setTimeout(() => controller.abort(timeLimitError(stage, timeLimitMs)), timeLimitMs);
  stopSignal.addEventListener('abort', stop);
  const startedMs = performance.now();
  const noteEnd = ({ hasFailed }: { hasFailed: boolean }) => {
    const durationMs = Math.round(performance.now() - startedMs);
    onEnded?.({ workgroupId, stage, durationMs, hasFailed });
    return durationMs;
  };
  progress.noteStarted(stage);
  try {
    const stageResult = await stages[stage](workgroupId, controller.signal);
    progress.noteSucceeded(stage);
    const { counts, nextOffset } = (stageResult as StageResult | undefined) ?? {};
    // A debug event, because a stage runs every few seconds for each workgroup.
    logger.debug(
      {
        workgroup: workgroupId,
        stage,
        durationMs: noteEnd({ hasFailed: false }),
        ...counts,
        ...(nextOffset !== undefined && { nextOffset: String(nextOffset) }),
      },
      'stage.done',
    );
    return stageResult;
  } catch (error) {
    if (stopSignal.aborted) {
      progress.noteInterrupted(stage);
      return undefined;
    }
    progress.noteFailed(stage, error);
    const { code, message } = failureWords(error);
    const raw = errorMessage(error);
    const durationMs = noteEnd({ hasFailed: true });
    const event = {
      workgroup: workgroupId,
      stage,
      durationMs,
      code,
      error: message,
      retryable: isRetryable(error),
    };
    // The original text is logged so that the cause can be found.
    logger[event.retryable ? 'warn' : 'error']({ ...event, ...(raw !== message && { raw }) }, 'stage.failed');
    throw error;
  } finally {
    clearTimeout(timeLimit);
    stopSignal.removeEventListener('abort', stop);
  }
}

function timeLimitError(stage: string, timeLimitMs: number): TransientError {
  return new TransientError('TimeLimit', `${stage} was stopped after ${timeLimitMs / SECOND_MS} s`);
}
