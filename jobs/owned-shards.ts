import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { failureWords } from '../src/pipeline/failure-words.ts';
import type { Leases } from './lease.ts';
import type { LossReason, Shard } from './shard-jobs.ts';

/** Why a shard is given up. */
export type GiveUpReason =
  | 'lease-lost'
  | 'lease-expired'
  | LossReason
  | 'handed-over'
  | 'reconfigured'
  | 'removed'
  | 'worker-stops';

/** A shard whose lease this worker has, until it is closed. */
interface OwnedShard {
  state: 'opening' | 'owned' | 'closing';
  /** The lease is being released, so it must not be renewed. */
  isReleased: boolean;
  /** The lease is certainly ours until then, also if the store is not reachable. */
  leaseUntilMs: UtcMs;
  shard: Shard | undefined;
  /** Set once the shard must be given up. Opening then ends in closing. */
  giveUp: GiveUpReason | undefined;
  /** Resolves when the shard is closed. */
  ended: Promise<void>;
}

/** A shard that could not be opened or was lost. Other workers may try it until `retryAtMs`. */
interface Waiting {
  failures: number;
  retryAtMs: UtcMs;
  sinceMs: UtcMs;
  /** False if another worker has taken the shard, which is no problem. */
  isFailure: boolean;
  error: string;
}

export interface OwnedShards {
  /** Takes the lease of a free shard and opens the shard in the background. @returns true if the lease was free */
  take(workgroupId: string): Promise<boolean>;
  /** Renews all leases, and gives up shards whose lease is lost. */
  renew(): Promise<void>;
  /** Gives up a shard in the background: stops its work, closes it, then releases the lease. */
  giveUp(workgroupId: string, reason: GiveUpReason): void;
  /** Gives up all shards and waits. */
  giveUpAll(reason: GiveUpReason): Promise<void>;
  /** Owned shards that are not being given up, oldest first. */
  kept(): string[];
  owned(): Shard[];
  mayTake(workgroupId: string): boolean;
  /** The error is set from the first failure until the shard is open, here or in another worker. */
  describe(workgroupId: string): OwnedShardDescription;
}

export interface OwnedShardDescription {
  state: OwnedShardState;
  error: string | null;
  /** Since when it cannot be opened. Null if it is open or another worker has it. */
  failingSinceMs: UtcMs | null;
}

/** `elsewhere`: another worker or nobody owns it. `waiting`: it could not be opened or was lost, and will be retried. */
export type OwnedShardState = OwnedShard['state'] | 'waiting' | 'elsewhere';

export interface OwnedShardsOptions {
  leases: Leases;
  /** Opens the shard in the warehouse and starts its work. */
  open: (workgroupId: string, onLost: (reason: LossReason) => void) => Promise<Shard>;
  /** Closes the shard in the warehouse. */
  close: (workgroupId: string) => Promise<void>;
  clock: Clock;
  logger: Logger;
}

/** When a shard is given up: time for running stages to end, then for the warehouse to close. */
const STOP_MS = 5 * SECOND_MS;
const CLOSE_MS = 6 * SECOND_MS;

export function createOwnedShards(options: OwnedShardsOptions): OwnedShards {
  const { leases, open, close, clock, logger } = options;
  const ownedShards = new Map<string, OwnedShard>();
  const waiting = new Map<string, Waiting>();
  const marginMs = leases.leaseMs / 5;

  async function take(workgroupId: string): Promise<boolean> {
    const askedAtMs = clock.now();
    if (!(await leases.hold(workgroupId))) {
      waiting.delete(workgroupId);
      return false;
    }
    const ownedShard: OwnedShard = {
      state: 'opening',
      isReleased: false,
      leaseUntilMs: askedAtMs + leases.leaseMs,
      shard: undefined,
      giveUp: undefined,
      ended: Promise.resolve(),
    };
    ownedShards.set(workgroupId, ownedShard);
    ownedShard.ended = live(workgroupId, ownedShard);
    return true;
  }

  /** Opens, waits for the end, and closes an owned shard. */
  async function live(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    // A stage of an earlier ownership may end only now. Its result is not about this one.
    const onLost = (reason: LossReason) => {
      if (ownedShards.get(workgroupId) === ownedShard) giveUp(workgroupId, reason);
    };
    try {
      ownedShard.shard = await open(workgroupId, onLost);
    } catch (error) {
      const { code, message } = failureWords(error);
      const { retryAtMs } = postpone(workgroupId, message, true);
      const raw = errorMessage(error);
      const event = { workgroupId, code, error: message, retryAtMs, ...(raw !== message && { raw }) };
      logger.error(event, 'shard.open-failed');
      return end(workgroupId, ownedShard);
    }
    if (ownedShard.giveUp) return end(workgroupId, ownedShard);
    ownedShard.state = 'owned';
    waiting.delete(workgroupId);
    logger.info({ workgroup: workgroupId }, 'shard.opened');
  }

  async function end(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    ownedShard.state = 'closing';
    const stopped = (await ownedShard.shard?.stop(STOP_MS)) ?? 'stopped';
    const closed = await withTimeout(close(workgroupId), CLOSE_MS).catch(errorMessage);
    await ownedShard.shard?.close();
    ownedShard.isReleased = true;
    // A lost lease is not released here, because releasing compares the owner.
    await leases.release(workgroupId).catch(() => undefined);
    ownedShards.delete(workgroupId);
    logger.info(
      {
        workgroup: workgroupId,
        reason: ownedShard.giveUp ?? 'open-failed',
        stopped,
        closed: closed ?? 'closed',
      },
      'shard.closed',
    );
  }

  function giveUp(workgroupId: string, reason: GiveUpReason): void {
    const ownedShard = ownedShards.get(workgroupId);
    if (!ownedShard || ownedShard.giveUp) return;
    ownedShard.giveUp = reason;
    if (reason === 'stale-owner') postpone(workgroupId, 'another worker has taken the shard over', false);
    if (ownedShard.state === 'owned') ownedShard.ended = end(workgroupId, ownedShard);
  }

  function postpone(workgroupId: string, error: string, isFailure: boolean): Waiting {
    const before = waiting.get(workgroupId);
    const nowMs = clock.now();
    const failures = (before?.failures ?? 0) + 1;
    const waitMs = Math.min(MINUTE_MS, leases.leaseMs * 2 ** (failures - 1));
    const sinceMs = before?.isFailure ? before.sinceMs : nowMs;
    const postponed = { failures, retryAtMs: nowMs + waitMs, sinceMs, isFailure, error };
    waiting.set(workgroupId, postponed);
    return postponed;
  }

  /** A shard that is not retried in time belongs to another worker. */
  function isTried({ retryAtMs }: Waiting): boolean {
    return clock.now() <= retryAtMs + leases.leaseMs;
  }

  async function renewOne(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    const askedAtMs = clock.now();
    try {
      if (await leases.hold(workgroupId)) ownedShard.leaseUntilMs = askedAtMs + leases.leaseMs;
      else giveUp(workgroupId, 'lease-lost');
    } catch (error) {
      logger.debug({ workgroup: workgroupId, error: errorMessage(error) }, 'lease.not-renewed');
      if (clock.now() >= ownedShard.leaseUntilMs - marginMs) giveUp(workgroupId, 'lease-expired');
    }
  }

  return {
    take,
    giveUp,
    async renew() {
      const held = [...ownedShards].filter(([, { isReleased }]) => !isReleased);
      await Promise.all(held.map(([workgroupId, ownedShard]) => renewOne(workgroupId, ownedShard)));
    },
    async giveUpAll(reason) {
      for (const workgroupId of ownedShards.keys()) giveUp(workgroupId, reason);
      // Opening may end in closing. Its promise covers both.
      await Promise.all([...ownedShards.values()].map(({ ended }) => ended));
    },
    kept: () =>
      [...ownedShards].filter(([, { giveUp: reason }]) => !reason).map(([workgroupId]) => workgroupId),
    owned: () =>
      [...ownedShards.values()].flatMap(({ state, shard }) => (state === 'owned' && shard ? [shard] : [])),
    mayTake: (workgroupId) =>
      !ownedShards.has(workgroupId) && clock.now() >= (waiting.get(workgroupId)?.retryAtMs ?? 0),
    describe(workgroupId) {
      const state = ownedShards.get(workgroupId)?.state;
      const since = waiting.get(workgroupId);
      const waits = since !== undefined && (state !== undefined || isTried(since)) ? since : undefined;
      return {
        state: state ?? (waits ? 'waiting' : 'elsewhere'),
        error: waits?.error ?? null,
        failingSinceMs: waits?.isFailure ? waits.sinceMs : null,
      };
    },
  };
}
