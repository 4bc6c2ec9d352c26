import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../src/lib/time.ts';
import { startSystemTimer } from '../src/lib/timer.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import type { HandoverMessage } from './handover-message.ts';
import type { Leases } from './lease.ts';
import type { GiveUpReason, OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';

/**
 * Handing a workgroup over while its owner still works: the owner tells that it is leaving, one other worker fetches the warehouse beside its own
 * data, and gets the lease when the owner releases it. It saves time only. Every message can be lost, and the claim in the bucket decides as always.
 */
export interface Handovers {
  /**
   * Gives a shard up when its successor is prepared. Until then it is worked on. Waits not at all without other workers, and not for long if none answers.
   * Never throws.
   * @param shareMax only a worker with fewer open shards becomes the successor
   */
  handOver(workgroupId: string, reason: GiveUpReason, shareMax: number): Promise<void>;
  onMessage(message: HandoverMessage): void;
  /** Becomes no successor any more. */
  stop(): void;
}

export interface HandoversOptions {
  workerId: string;
  leases: Pick<Leases, 'succeed' | 'release'>;
  channel: Pick<QueueBackend['channel'], 'tell' | 'tellOthers'>;
  /** Fetches the warehouse. Undefined if there is nothing to fetch. Then this worker hands nothing over like this. */
  prepare: ((workgroupId: string) => Promise<void>) | undefined;
  /** Removes what was fetched, unless it is used. */
  discard: ((workgroupId: string) => Promise<void>) | undefined;
  ownedShards: Pick<OwnedShards, 'take' | 'mayTake' | 'kept' | 'giveUp'>;
  /** The most open shards of this worker. */
  openMax: number;
  /** False if the workgroup is not configured, or this worker stops. */
  mayOpen(workgroupId: string): boolean;
  logger: Logger;
}

/** An owner without an answer goes on alone. */
const ANSWER_MS = SECOND_MS;
/** The longest wait for a successor, half of the time in which a worker that stops gives up its shards. */
const PREPARE_MS = 6 * SECOND_MS;
/** What was prepared and is not used is kept for this time. */
const KEPT_MS = MINUTE_MS;

export function createHandovers(options: HandoversOptions): Handovers {
  const { workerId, leases, channel, prepare, discard, ownedShards, openMax, mayOpen, logger } = options;
  /** As the owner: what the successor has told. */
  const waits = new Map<string, { answered: () => void; prepared: () => void }>();
  /** As the successor: workgroups that are noted for this worker. */
  const expected = new Set<string>();
  const stopTimers = new Map<string, () => void>();
  let preparing: Promise<void> = Promise.resolve();
  let isStopped = false;

  const tell = (to: string, message: HandoverMessage) => channel.tell(to, JSON.stringify(message));

  async function waitForSuccessor(workgroupId: string, shareMax: number): Promise<void> {
    const answered = Promise.withResolvers<void>();
    const prepared = Promise.withResolvers<void>();
    waits.set(workgroupId, { answered: answered.resolve, prepared: prepared.resolve });
    const leaving: HandoverMessage = { kind: 'leaving', workgroupId, workerId, shareMax };
    if (!(await channel.tellOthers(JSON.stringify(leaving)))) return;
    const startMs = performance.now();
    if ((await withTimeout(answered.promise, ANSWER_MS)) === 'late') return;
    const isLate = (await withTimeout(prepared.promise, PREPARE_MS - ANSWER_MS)) === 'late';
    const waitedMs = Math.round(performance.now() - startMs);
    logger.info({ workgroup: workgroupId, isLate, waitedMs }, 'handover.prepared');
  }

  async function becomeSuccessor(workgroupId: string, owner: string): Promise<void> {
    if (!(await leases.succeed(workgroupId))) return;
    expected.add(workgroupId);
    stopTimers.get(workgroupId)?.();
    stopTimers.set(
      workgroupId,
      startSystemTimer(KEPT_MS, () => forget(workgroupId)),
    );
    await tell(owner, { kind: 'preparing', workgroupId });
    // One after the other, because each takes all processors.
    preparing = preparing.then(async () => {
      if (isStopped || !expected.has(workgroupId)) return;
      try {
        await prepare?.(workgroupId);
      } catch (error) {
        // The restore after the claim reports what lasts.
        logger.info({ workgroup: workgroupId, error: errorMessage(error) }, 'handover.not-prepared');
      }
      await tell(owner, { kind: 'prepared', workgroupId }).catch(() => undefined);
    });
  }

  /** Opens the shard of a workgroup whose lease this worker has been given. */
  async function accept(workgroupId: string): Promise<void> {
    if (mayOpen(workgroupId)) await ownedShards.take(workgroupId);
    else await leases.release(workgroupId, 'awake');
  }

  function forget(workgroupId: string): void {
    expected.delete(workgroupId);
    stopTimers.delete(workgroupId);
    discard?.(workgroupId).catch((error: unknown) =>
      logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'handover.not-discarded'),
    );
  }

  return {
    async handOver(workgroupId, reason, shareMax) {
      if (waits.has(workgroupId)) return;
      try {
        if (prepare) await waitForSuccessor(workgroupId, shareMax);
      } catch (error) {
        logger.debug({ workgroup: workgroupId, error: errorMessage(error) }, 'handover.not-told');
      } finally {
        waits.delete(workgroupId);
      }
      ownedShards.giveUp(workgroupId, reason);
    },
    onMessage(message) {
      const { kind, workgroupId } = message;
      switch (kind) {
        case 'leaving': {
          if (!prepare || isStopped || message.workerId === workerId) return;
          const openAfter = ownedShards.kept().length + expected.size;
          if (!mayOpen(workgroupId) || !ownedShards.mayTake(workgroupId)) return;
          if (openAfter >= Math.min(message.shareMax, openMax)) return;
          becomeSuccessor(workgroupId, message.workerId).catch(() => undefined);
          return;
        }
        case 'preparing':
          waits.get(workgroupId)?.answered();
          return;
        case 'prepared':
          waits.get(workgroupId)?.prepared();
          return;
        case 'handed-over':
          // What was prepared is used now.
          expected.delete(workgroupId);
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
