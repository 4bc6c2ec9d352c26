import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../src/lib/time.ts';
import { type StartTimer, startSystemTimer } from '../src/lib/timer.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import type { HandoverMessage } from './handover-message.ts';
import type { Leases } from './leases.ts';
import type { GiveUpReason, OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';

/**
 * Hands a workgroup over while its owner still works. The owner announces that it is leaving. One other
 * worker fetches the warehouse next to its own data. This worker gets the lease when the owner releases it. A
 * handover only saves time. Every message can be lost, and the claim in the bucket decides who owns the
 * workgroup, as always.
 */
export interface Handovers {
  /**
   * Gives a shard up when its successor is prepared. Work on the shard continues until then. Does not wait if
   * there are no other workers. Waits only briefly if no worker answers. Never throws.
   * @param shareMax only a worker with fewer open shards becomes the successor
   */
  handOver(workgroupId: string, reason: GiveUpReason, shareMax: number): Promise<void>;
  onMessage(message: HandoverMessage): void;
  /** From now on this worker becomes no successor. */
  stop(): void;
}

interface HandoversOptions {
  workerId: string;
  leases: Pick<Leases, 'succeed' | 'release'>;
  channel: Pick<QueueBackend['channel'], 'tell' | 'tellOthers'>;
  /**
   * Fetches the warehouse. Undefined if there is nothing to fetch. Then this worker gives its shards up
   * without a successor.
   */
  prepare: ((workgroupId: string) => Promise<void>) | undefined;
  /** Removes the fetched files, unless they are used. */
  discard: ((workgroupId: string) => Promise<void>) | undefined;
  ownedShards: Pick<OwnedShards, 'take' | 'mayTake' | 'remaining' | 'giveUp'>;
  /** The maximum number of open shards of this worker. */
  openMax: number;
  /** False if the workgroup is not configured, or this worker stops. */
  mayOpen(workgroupId: string): boolean;
  /** For tests. Default: seconds. */
  times?: HandoverTimes;
  startTimer?: StartTimer;
  logger: Logger;
}

export interface HandoverTimes {
  /** An owner that gets no answer in this time gives the workgroup up without a successor. */
  answerMs: number;
  /** A successor reports this often that it is still preparing. */
  reportEveryMs: number;
  /** A successor without a report for this time has ended, or Redis does not answer. */
  silenceMs: number;
  /**
   * The longest wait for a successor. A worker that stops needs the rest of its time to commit and to close.
   */
  waitMs: number;
}

const TIMES: HandoverTimes = {
  answerMs: SECOND_MS,
  reportEveryMs: SECOND_MS,
  silenceMs: 5 * SECOND_MS,
  waitMs: 8 * SECOND_MS,
};
/** Prepared files that are not used are kept for this time. */
const KEPT_MS = MINUTE_MS;

export function createHandovers(options: HandoversOptions): Handovers {
  const { workerId, leases, channel, prepare, discard, ownedShards, openMax, mayOpen, logger } = options;
  const { startTimer = startSystemTimer } = options;
  const { answerMs, reportEveryMs, silenceMs, waitMs } = options.times ?? TIMES;
  /** While this worker is an owner: the waits that the messages of a successor end, by workgroup. */
  const successorWaits = new Map<string, { noteReported: () => void; notePrepared: () => void }>();
  /** While this worker is a successor: the workgroups that it will get. */
  const promised = new Set<string>();
  /** The timers that end a promise. */
  const stopTimers = new Map<string, () => void>();
  let preparing: Promise<void> = Promise.resolve();
  let isStopped = false;

  const tell = (to: string, message: HandoverMessage) => channel.tell(to, JSON.stringify(message));

  async function waitForSuccessor(workgroupId: string, shareMax: number): Promise<void> {
    const prepared = Promise.withResolvers<void>();
    let reported = Promise.withResolvers<void>();
    successorWaits.set(workgroupId, {
      noteReported: () => reported.resolve(),
      notePrepared: prepared.resolve,
    });
    const leaving: HandoverMessage = { kind: 'leaving', workgroupId, workerId, shareMax };
    if (!(await channel.tellOthers(JSON.stringify(leaving)))) return;
    const startMs = performance.now();
    if ((await withTimeout(reported.promise, answerMs)) === 'late') return;
    const whenPrepared = prepared.promise.then(() => 'prepared' as const);
    const whenReported = () => reported.promise.then(() => 'reported' as const);
    let outcome: 'reported' | 'prepared' | 'late' = 'reported';
    while (outcome === 'reported') {
      reported = Promise.withResolvers();
      const leftMs = waitMs - (performance.now() - startMs);
      outcome = await withTimeout(Promise.race([whenPrepared, whenReported()]), Math.min(silenceMs, leftMs));
    }
    const waitedMs = Math.round(performance.now() - startMs);
    logger.info({ workgroup: workgroupId, isLate: outcome === 'late', waitedMs }, 'handover.prepared');
  }

  async function becomeSuccessor(workgroupId: string, owner: string): Promise<void> {
    if (!(await leases.succeed(workgroupId))) return;
    promised.add(workgroupId);
    stopTimers.get(workgroupId)?.();
    stopTimers.set(
      workgroupId,
      startTimer(KEPT_MS, () => forget(workgroupId)),
    );
    const isMine = () => !isStopped && promised.has(workgroupId);
    const reportPreparing = () => tell(owner, { kind: 'preparing', workgroupId });
    await reportPreparing();
    const reporting = setInterval(() => {
      if (isMine()) reportPreparing().catch(() => undefined);
    }, reportEveryMs).unref();
    // Warehouses are fetched one after the other, because each fetch uses all processors.
    preparing = preparing
      .then(async () => {
        if (!isMine()) return;
        try {
          await prepare?.(workgroupId);
        } catch (error) {
          // If the failure lasts, the restore after the claim reports it.
          logger.info({ workgroup: workgroupId, error: errorMessage(error) }, 'handover.not-prepared');
        }
        await tell(owner, { kind: 'prepared', workgroupId }).catch(() => undefined);
      })
      .finally(() => clearInterval(reporting));
  }

  /** Opens the shard of a workgroup after this worker was given its lease. */
  async function accept(workgroupId: string): Promise<void> {
    if (mayOpen(workgroupId)) await ownedShards.take(workgroupId);
    else await leases.release(workgroupId, 'awake');
  }

  function forget(workgroupId: string): void {
    promised.delete(workgroupId);
    stopTimers.delete(workgroupId);
    discard?.(workgroupId).catch((error: unknown) =>
      logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'handover.not-discarded'),
    );
  }

  return {
    async handOver(workgroupId, reason, shareMax) {
      if (successorWaits.has(workgroupId)) return;
      try {
        if (prepare) await waitForSuccessor(workgroupId, shareMax);
      } catch (error) {
        logger.debug({ workgroup: workgroupId, error: errorMessage(error) }, 'handover.not-told');
      } finally {
        successorWaits.delete(workgroupId);
      }
      ownedShards.giveUp(workgroupId, reason);
    },
    onMessage(message) {
      const { kind, workgroupId } = message;
      switch (kind) {
        case 'leaving': {
          if (!prepare || isStopped || message.workerId === workerId) return;
          const openAfter = ownedShards.remaining().length + promised.size;
          if (!mayOpen(workgroupId) || !ownedShards.mayTake(workgroupId)) return;
          if (openAfter >= Math.min(message.shareMax, openMax)) return;
          becomeSuccessor(workgroupId, message.workerId).catch(() => undefined);
          return;
        }
        case 'preparing':
          successorWaits.get(workgroupId)?.noteReported();
          return;
        case 'prepared':
          successorWaits.get(workgroupId)?.notePrepared();
          return;
        case 'handed-over':
          // From now on the prepared files are used.
          promised.delete(workgroupId);
          accept(workgroupId).catch((error: unknown) =>
            // The lease ends by itself.
            logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'handover.not-accepted'),
          );
          return;
        default:
          message satisfies never;
      }
    },
    stop() {
      isStopped = true;
      for (const [workgroupId, stopTimer] of stopTimers) {
        stopTimer();
        forget(workgroupId);
      }
    },
  };
}
