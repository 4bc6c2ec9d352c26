import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { tellFailure } from '../src/pipeline/failure-words.ts';
import type { Leases } from './lease.ts';
import type { LossReason, Shard } from './shard-jobs.ts';

/** Why a shard is given up. */
export type GiveUpReason = 'lease-lost' | 'lease-expired' | LossReason | 'handed-over' | 'worker-stops';

/** A shard this worker holds the lease of, from the moment it is taken until it is closed. */
interface OwnedShard {
  state: 'opening' | 'owned' | 'closing';
  /** The lease has been or is being given back, so it must not be prolonged again. */
  isReleased: boolean;
  /** The lease is ours for certain until then, whatever we hear of the store. */
  leaseUntilMs: UtcMs;
  shard: Shard | undefined;
  /** Set once the shard is to be given up; opening ends in closing then. */
  giveUp: GiveUpReason | undefined;
  /** Ends when the shard has been closed. */
  ended: Promise<void>;
}

/** A shard that could not be opened or was lost: left alone until `retryAtMs`, so that another worker may try. */
interface Waiting {
  failures: number;
  retryAtMs: UtcMs;
  sinceMs: UtcMs;
  /** False where another worker has taken the shard over: nothing is wrong with it. */
  isFailure: boolean;
  error: string;
}

export interface OwnedShards {
  /** Takes the lease of a shard if it is free, and opens it in the background. @returns whether the lease was free */
  take(workgroupId: string): Promise<boolean>;
  /** Prolongs every lease, and gives up the shards whose lease is gone. */
  renew(): Promise<void>;
  /** Gives a shard up in the background: stops its work, closes it, then releases the lease. */
  giveUp(workgroupId: string, reason: GiveUpReason): void;
  /** Gives everything up and waits for it. */
  giveUpAll(reason: GiveUpReason): Promise<void>;
  /** Shards that are held and not being given up, in the order in which they were taken. */
  kept(): string[];
  owned(): Shard[];
  mayTake(workgroupId: string): boolean;
  /** The error is set from the first failure until the shard is open, here or elsewhere. */
  describe(workgroupId: string): OwnedShardDescription;
}

export interface OwnedShardDescription {
  state: OwnedShardState;
  error: string | null;
  /** Since when it cannot be opened; null where it is open, or where another worker has it. */
  failingSinceMs: UtcMs | null;
}

/** `elsewhere`: another worker owns it, or nobody yet; `waiting`: it could not be opened or was lost, and is tried again. */
export type OwnedShardState = OwnedShard['state'] | 'waiting' | 'elsewhere';

export interface OwnedShardsOptions {
  leases: Leases;
  /** Opens the shard in the warehouse and begins to work on it. */
  open: (workgroupId: string, onLost: (reason: LossReason) => void) => Promise<Shard>;
  /** Closes the shard in the warehouse. */
  close: (workgroupId: string) => Promise<void>;
  clock: Clock;
  logger: Logger;
}

/** How long running stages have to end, and then the warehouse to close, when a shard is given up. */
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

  /** The whole life of a ownedShard but for the time in which it simply works. */
  async function live(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    // A stage of an earlier time may end only now: what it finds out is not about this one.
    const onLost = (reason: LossReason) => {
      if (ownedShards.get(workgroupId) === ownedShard) giveUp(workgroupId, reason);
    };
    try {
      ownedShard.shard = await open(workgroupId, onLost);
    } catch (error) {
      const { code, message } = tellFailure(error);
      const { retryAtMs } = postpone(workgroupId, message, true);
      const raw = errorMessage(error);
      const event = { workgroupId, code, error: message, retryAtMs, ...(raw !== message && { raw }) };
      logger.error(event, 'shard.open-failed');
      return end(workgroupId, ownedShard);
    }
    if (ownedShard.giveUp) return end(workgroupId, ownedShard);
    ownedShard.state = 'owned';
    waiting.delete(workgroupId);
    logger.info({ workgroupId }, 'shard.opened');
  }

  async function end(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    ownedShard.state = 'closing';
    const stopped = (await ownedShard.shard?.stop(STOP_MS)) ?? 'stopped';
    const closed = await withTimeout(close(workgroupId), CLOSE_MS).catch(errorMessage);
    await ownedShard.shard?.close();
    ownedShard.isReleased = true;
    // A lease that is no longer ours is not released: releasing compares the owner.
    await leases.release(workgroupId).catch(() => undefined);
    ownedShards.delete(workgroupId);
    logger.info(
      { workgroupId, reason: ownedShard.giveUp ?? 'open-failed', stopped, closed: closed ?? 'closed' },
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

  /** One that is not tried again in its time is the share of another worker by now. */
  function isTried({ retryAtMs }: Waiting): boolean {
    return clock.now() <= retryAtMs + leases.leaseMs;
  }

  async function renewOne(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    const askedAtMs = clock.now();
    try {
      if (await leases.hold(workgroupId)) ownedShard.leaseUntilMs = askedAtMs + leases.leaseMs;
      else giveUp(workgroupId, 'lease-lost');
    } catch (error) {
      logger.debug({ workgroupId, error: errorMessage(error) }, 'lease.not-renewed');
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
      // Opening may end in closing, which replaces nothing: its own promise covers both.
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
