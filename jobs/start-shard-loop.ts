import { errorCode } from '../src/lib/errors.ts';
import { createInTurn, type InTurn } from '../src/lib/in-turn.ts';
import type { Logger } from '../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS, type SteadyClock } from '../src/lib/time.ts';
import { type StartTimer, startSystemTimer } from '../src/lib/timer.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { type AfterRun, createPacedRun, type PacedRun } from './paced-run.ts';
import { runStage } from './run-stage.ts';
import { createStageProgress, type StageHealth } from './stage-health.ts';
import { stageTable } from './stage-table.ts';
import type { StageName, StagePace, StageResult, StageRun, StageWork } from './stages.ts';

/** A stage can find that another worker has its shard, that it is not open, or that its lease has run out. */
export type LossReason = 'stale-owner' | 'shard-ended' | 'lease-expired';

/** A shard that this worker owns, and the loop that works on it. */
export interface ShardLoop {
  readonly workgroupId: string;
  health(): StageHealth[];
  /** The stream may have new messages. */
  noteNews(): void;
  /** Data was stored, so it must be rolled up and published. */
  noteChange(): void;
  /** A job of a stage is due. */
  noteDue(stage: StageName): void;
  /** Somebody asked something of the shard, so it stays open for a while. */
  noteUse(): void;
  /** The time since the last news, change or use. 0 while work is asked for, under way or failing. */
  idleMs(): number;
  /**
   * Rolls up and publishes what time alone has changed.
   * @returns false if it failed, if work is left, or if there is news
   */
  catchUp(): Promise<boolean>;
  /** Begins no more runs, aborts the current ones, and waits for at most `withinMs`. */
  stop(withinMs: number): Promise<'stopped' | 'abandoned'>;
}

interface ShardLoopOptions {
  workgroupId: string;
  paces: readonly StagePace[];
  stages: StageWork;
  clock: SteadyClock;
  logger: Logger;
  /** True if the shard was opened for a job, and not for news. It is then idle as soon as the job is done. */
  isBrief?: boolean;
  startTimer?: StartTimer;
  /** False if the lease of the shard has run out. No stage begins then. Default: always true. */
  isLeaseValid?: () => boolean;
  /** Called after each run of a stage. */
  onStageEnded?: ((run: StageRun) => void) | undefined;
  /** Called when a stage finds that the shard can no longer be worked on. */
  onLost: (reason: LossReason) => void;
}

const FIRST_AFTER_MS: Partial<Record<StageName, number>> = { maintain: MINUTE_MS, commit: 10 * SECOND_MS };
const FIRST_PUBLICATION_MS_MAX = MINUTE_MS;
/** A stream that does not answer must not stop the other stages. */
const FIRST_POLL_MS_MAX = 3 * SECOND_MS;

/**
 * Starts the loop of a shard. News of the stream asks for `poll`, landed messages ask for `rollup`, and a
 * roll-up asks for `publish`. Each stage also runs without being asked, but rarely. All stages run once at
 * the beginning, `maintain` and `commit` a little later. Two roll-ups are at least `pipeline.rollupEvery`
 * apart, and at least `pipeline.publishEvery`. So the first one waits for the first messages.
 */
export function startShardLoop(options: ShardLoopOptions): ShardLoop {
  const { workgroupId, paces, stages, clock, logger, onLost, startTimer = startSystemTimer } = options;
  const { isLeaseValid = () => true, onStageEnded: onEnded } = options;
  const progress = createStageProgress(paces, {
    clock,
    timeLimitMs: (stage) => stageTable[stage].timeLimitMs,
  });
  const lanes = new Map<string, InTurn>(Object.values(stageTable).map(({ lane }) => [lane, createInTurn()]));
  const stopping = new AbortController();
  const laterTimers = new Map<StageName, () => void>();
  const running = new Set<Promise<unknown>>();
  let usedAtMs = options.isBrief ? Number.NEGATIVE_INFINITY : clock.now();
  /** Grows with everything that can make the shard busy. */
  let uses = 0;

  /** Opens when the first messages have landed, when the first poll has ended, or after some seconds. */
  const polled = createGate(FIRST_POLL_MS_MAX);
  /** Opens when the first publication has ended, because a snapshot of a large warehouse would delay it. */
  const published = createGate(FIRST_PUBLICATION_MS_MAX);

  /** A wait of stages, which ends when it is opened, when the time is over, and when the shard stops. */
  function createGate(msMax: number): { passed: Promise<void>; open: () => void } {
    const { promise: passed, resolve: open } = Promise.withResolvers<void>();
    const stopTimer = startTimer(msMax, open);
    stopping.signal.addEventListener('abort', () => open());
    void passed.then(stopTimer);
    return { passed, open };
  }

  async function runOnce(stage: StageName): Promise<AfterRun> {
    const noteEnd = progress.tick(stage);
    if (stageTable[stage].lane === 'derive') await polled.passed;
    if (stage === 'commit') await published.passed;
    try {
      const stageResult = await lanes.get(stageTable[stage].lane)?.(async () => {
        if (!isLeaseValid()) {
          onLost('lease-expired');
          return undefined;
        }
        const run = { stages, workgroupId, progress, logger, onEnded };
        return runStage(stageTable[stage], run, stopping.signal);
      });
      if (stage === 'rollup') runs.get('publish')?.request();
      const { more, againInMs } = (stageResult as StageResult | undefined) ?? {};
      if (againInMs !== undefined) wantLater(stage, againInMs);
      return more ? 'again' : 'done';
    } catch (error) {
      const reason = lossReason(error);
      if (reason) onLost(reason);
      return { waitMs: progress.backOffMs(stage) };
    } finally {
      noteEnd();
      if (stage === 'poll') polled.open();
      if (stage === 'publish') published.open();
    }
  }

  function wantLater(stage: StageName, inMs: number): void {
    laterTimers.get(stage)?.();
    laterTimers.set(
      stage,
      startTimer(inMs, () => runs.get(stage)?.request()),
    );
  }

  function track<Result>(work: Promise<Result>): Promise<Result> {
    running.add(work);
    void work.catch(() => undefined).finally(() => running.delete(work));
    return work;
  }

  const runs = new Map<StageName, PacedRun>(
    paces.map(({ stage, minPeriodMs, maxPeriodMs }) => {
      const run = () => track(runOnce(stage));
      // Some stages begin later, because opening a shard is already much work.
      const firstAfterMs = Math.min(maxPeriodMs, FIRST_AFTER_MS[stage] ?? 0);
      const pace = { minPeriodMs, maxPeriodMs, firstAfterMs, run, nowMs: () => clock.now() };
      return [stage, createPacedRun({ ...pace, startTimer })];
    }),
  );

  function use(): void {
    uses += 1;
    usedAtMs = clock.now();
  }

  const isBusy = () =>
    [...runs.values()].some((run) => run.isBusy()) || progress.health().some(({ failures }) => failures > 0);

  return {
    workgroupId,
    health: progress.health,
    noteNews() {
      use();
      runs.get('poll')?.request();
    },
    noteChange() {
      use();
      polled.open();
      runs.get('rollup')?.request();
    },
    noteDue(stage) {
      runs.get(stage)?.request();
    },
    noteUse: use,
    idleMs: () => (isBusy() ? 0 : clock.now() - usedAtMs),
    async catchUp() {
      const before = uses;
      for (const stage of ['rollup', 'publish'] as const) {
        if ((await track(runOnce(stage))) !== 'done') return false;
      }
      return uses === before && !stopping.signal.aborted;
    },
    async stop(withinMs) {
      for (const run of runs.values()) run.stop();
      for (const stopTimer of laterTimers.values()) stopTimer();
      stopping.abort(new Error('the worker stops'));
      const outcome = await withTimeout(Promise.allSettled(running), withinMs);
      return outcome === 'late' ? 'abandoned' : 'stopped';
    },
  };
}

/** Compares codes, because classes do not survive between threads. */
function lossReason(error: unknown): LossReason | undefined {
  const code = errorCode(error);
  if (code === 'StaleOwner') return 'stale-owner';
  return code === 'ShardNotOpen' || code === 'PipelineEnded' ? 'shard-ended' : undefined;
}
