import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { SECOND_MS, type SteadyClock, type UtcMs } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { failureWords } from '../src/pipeline/failure-words.ts';
import { createHeldLease, type HeldLease } from './held-lease.ts';
import type { Leases } from './leases.ts';
import { createPostponedShards } from './postponed-shards.ts';
import type { LossReason, ShardLoop } from './start-shard-loop.ts';

/** Why a shard is given up. */
export type GiveUpReason =
  /** The store of leases says that another worker has it. */
  | 'lease-lost'
  /** It was not renewed in time, even if no other worker has taken it. */
  | 'lease-expired'
  | LossReason
  | 'handed-over'
  | 'reconfigured'
  | 'removed'
  | 'makes-room'
  | 'hibernates'
  | 'worker-stops';

/** A shard with a lease of this worker, until the shard is closed. */
interface OwnedShard {
  state: OwnState;
  lease: HeldLease;
  /** Resolves when the opening or closing that was begun last has ended. */
  whenSettled: Promise<void>;
}

type OwnState =
  /** If it has a reason to be given up, it is closed as soon as it is open. */
  | { kind: 'opening'; givenUpFor: GiveUpReason | undefined }
  | { kind: 'owned'; loop: ShardLoop }
  /** A shard without a reason is closed because it could not be opened. */
  | { kind: 'closing'; givenUpFor: GiveUpReason | undefined };

/** The lease of a shard, for the shard. */
export interface ShardLease {
  /** False if the lease has run out. Another worker can have the shard then. */
  isValid(): boolean;
  onLost(reason: LossReason): void;
}

export interface OwnedShards {
  /**
   * Takes the lease of a free shard and opens the shard in the background.
   * @returns true if the lease was free
   */
  take(workgroupId: string): Promise<boolean>;
  /**
   * Waits while a shard is being opened or closed.
   * @returns the loop of the open shard, undefined if it is not open here
   */
  settledLoop(workgroupId: string): Promise<ShardLoop | undefined>;
  /**
   * Publishes the rest, closes an idle shard, and notes that it needs no worker. The shard stays open if
   * there is news.
   * @returns true if it hibernates
   */
  hibernate(workgroupId: string): Promise<boolean>;
  /**
   * Renews all leases. Gives up a shard if its lease could not be renewed in time, or if another worker has
   * it.
   */
  renew(): Promise<void>;
  /** Gives up a shard in the background: stops its work, closes it, then releases the lease. */
  giveUp(workgroupId: string, reason: GiveUpReason): void;
  /** Gives up all shards and waits. */
  giveUpAll(reason: GiveUpReason): Promise<void>;
  /**
   * Releases the leases of shards that are not closed yet, because the process ends soon. No stage of them
   * begins after that. Never throws.
   */
  releaseAll(): Promise<void>;
  /** Owned shards that are not being given up, oldest first. */
  remaining(): string[];
  /** True from the taking of the lease until the shard is closed. */
  isOwned(workgroupId: string): boolean;
  /** The number of shards that are being opened. */
  openingCount(): number;
  /** True if no other worker can have the workgroup: its lease is ours, or nobody can open it. */
  isNowhereElse(workgroupId: string): boolean;
  /** The loop of the open shard. Undefined while it is being opened or closed. */
  openLoop(workgroupId: string): ShardLoop | undefined;
  openLoops(): ShardLoop[];
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

/**
 * `elsewhere`: another worker or nobody owns it. `waiting`: it could not be opened or was lost, and will be
 * retried.
 */
export type OwnedShardState = OwnState['kind'] | 'hibernating' | 'waiting' | 'elsewhere';

interface OwnedShardsOptions {
  leases: Leases;
  /** Opens the shard in the warehouse and starts its work. */
  open: (workgroupId: string, lease: ShardLease) => Promise<ShardLoop>;
  /** Closes the shard in the warehouse. */
  close: (workgroupId: string) => Promise<void>;
  /**
   * True if everything of the stream is in the warehouse of an idle shard, and everything of the warehouse in
   * the lake.
   */
  mayHibernate: (workgroupId: string) => Promise<boolean>;
  /** Called after an idle shard was closed, and before its lease is released. */
  onHibernated: (workgroupId: string) => Promise<void>;
  clock: SteadyClock;
  logger: Logger;
}

/** When a shard is given up: time for running stages to end, then for the warehouse to close. */
const STAGES_STOP_TIMEOUT_MS = 5 * SECOND_MS;
const WAREHOUSE_CLOSE_TIMEOUT_MS = 6 * SECOND_MS;

export function createOwnedShards(options: OwnedShardsOptions): OwnedShards {
  const { leases, open, close, mayHibernate, onHibernated, clock, logger } = options;
  const ownedShards = new Map<string, OwnedShard>();
  const postponed = createPostponedShards(clock, leases.leaseMs);

  async function take(workgroupId: string): Promise<boolean> {
    const askedAtMs = clock.now();
    if (!(await leases.acquireOrRenew(workgroupId))) {
      postponed.remove(workgroupId);
      return false;
    }
    if (!postponed.findUnlessLapsed(workgroupId)) postponed.remove(workgroupId);
    const ownedShard: OwnedShard = {
      state: { kind: 'opening', givenUpFor: undefined },
      lease: createHeldLease(askedAtMs, leases, clock),
      whenSettled: Promise.resolve(),
    };
    ownedShards.set(workgroupId, ownedShard);
    ownedShard.whenSettled = openOrClose(workgroupId, ownedShard);
    return true;
  }

  /** Opens an owned shard. Closes it if that fails, or if it was given up meanwhile. */
  async function openOrClose(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    // A stage of an earlier ownership can still be running, and can end only now. Its result says nothing
    // about this ownership.
    const onLost = (reason: LossReason) => {
      if (ownedShards.get(workgroupId) === ownedShard) giveUp(workgroupId, reason);
    };
    let loop: ShardLoop;
    try {
      loop = await open(workgroupId, { isValid: ownedShard.lease.isValid, onLost });
    } catch (error) {
      const { code, message } = failureWords(error);
      const { retryAtMs } = postponed.add(workgroupId, message, { isFailure: true });
      const raw = errorMessage(error);
      const event = {
        workgroup: workgroupId,
        code,
        error: message,
        retryAtMs,
        ...(raw !== message && { raw }),
      };
      logger.error(event, 'shard.open-failed');
      return closeAndRelease(workgroupId, ownedShard);
    }
    giveUpIfRunOut(workgroupId, ownedShard);
    if (givenUpFor(ownedShard)) return closeAndRelease(workgroupId, ownedShard, loop);
    ownedShard.state = { kind: 'owned', loop };
    postponed.remove(workgroupId);
    logger.info({ workgroup: workgroupId }, 'shard.opened');
  }

  /**
   * Stops and closes a shard, and releases its lease.
   * @param loop undefined if the shard could not be opened
   */
  async function closeAndRelease(
    workgroupId: string,
    ownedShard: OwnedShard,
    loop?: ShardLoop,
  ): Promise<void> {
    ownedShard.state = { kind: 'closing', givenUpFor: givenUpFor(ownedShard) };
    const stopped = (await loop?.stop(STAGES_STOP_TIMEOUT_MS)) ?? 'stopped';
    const closed = await withTimeout(close(workgroupId), WAREHOUSE_CLOSE_TIMEOUT_MS).catch(errorMessage);
    ownedShard.lease.noteRelease();
    const hibernates =
      givenUpFor(ownedShard) === 'hibernates' && stopped === 'stopped' && closed === undefined;
    if (hibernates) await onHibernated(workgroupId);
    // A lost lease is not released here, because releasing compares the owner.
    await leases.release(workgroupId, hibernates ? 'hibernated' : 'awake').catch(() => undefined);
    ownedShards.delete(workgroupId);
    const reason = givenUpFor(ownedShard) ?? 'open-failed';
    logger.info({ workgroup: workgroupId, reason, stopped, closed: closed ?? 'closed' }, 'shard.closed');
  }

  function giveUp(workgroupId: string, reason: GiveUpReason): void {
    const ownedShard = ownedShards.get(workgroupId);
    if (!ownedShard || givenUpFor(ownedShard)) return;
    if (reason === 'stale-owner')
      postponed.add(workgroupId, 'another worker has taken the shard over', { isFailure: false });
    const { state } = ownedShard;
    if (state.kind !== 'owned') {
      state.givenUpFor = reason;
      return;
    }
    ownedShard.state = { kind: 'closing', givenUpFor: reason };
    ownedShard.whenSettled = closeAndRelease(workgroupId, ownedShard, state.loop);
  }

  /** Gives up a shard after its lease has run out. */
  function giveUpIfRunOut(workgroupId: string, ownedShard: OwnedShard): void {
    if (ownedShard.lease.hasRunOut()) giveUp(workgroupId, 'lease-expired');
  }

  async function renew(): Promise<void> {
    for (const [workgroupId, ownedShard] of ownedShards) giveUpIfRunOut(workgroupId, ownedShard);
    const held = new Map([...ownedShards].filter(([, { lease }]) => !lease.isReleased()));
    const askedAtMs = clock.now();
    try {
      const lost = new Set(await leases.renew([...held.keys()]));
      for (const [workgroupId, { lease }] of held) {
        if (lost.has(workgroupId)) giveUp(workgroupId, 'lease-lost');
        else lease.noteRenewal(askedAtMs);
      }
    } catch (error) {
      logger.debug({ error: errorMessage(error) }, 'lease.not-renewed');
      for (const [workgroupId, { lease }] of held)
        if (lease.runsOutSoon()) giveUp(workgroupId, 'lease-expired');
    }
  }

  async function settledLoop(workgroupId: string): Promise<ShardLoop | undefined> {
    for (;;) {
      const ownedShard = ownedShards.get(workgroupId);
      if (!ownedShard) return undefined;
      giveUpIfRunOut(workgroupId, ownedShard);
      if (ownedShard.state.kind === 'owned') return ownedShard.state.loop;
      await ownedShard.whenSettled;
    }
  }

  async function hibernate(workgroupId: string): Promise<boolean> {
    const ownedShard = ownedShards.get(workgroupId);
    if (ownedShard?.state.kind !== 'owned') return false;
    if (!(await ownedShard.state.loop.catchUp()) || !(await mayHibernate(workgroupId))) return false;
    giveUp(workgroupId, 'hibernates');
    await ownedShard.whenSettled;
    return !ownedShards.has(workgroupId) && givenUpFor(ownedShard) === 'hibernates';
  }

  return {
    take,
    settledLoop,
    hibernate,
    giveUp,
    renew,
    async giveUpAll(reason) {
      for (const workgroupId of ownedShards.keys()) giveUp(workgroupId, reason);
      // A shard that is being opened can be closed at the end. The promise of the opening covers both.
      await Promise.all([...ownedShards.values()].map(({ whenSettled }) => whenSettled));
    },
    async releaseAll() {
      const releasing = [...ownedShards].map(([workgroupId, ownedShard]) => {
        ownedShard.lease.noteRelease();
        return leases.release(workgroupId, 'awake');
      });
      await Promise.allSettled(releasing);
    },
    remaining: () =>
      [...ownedShards].filter(([, one]) => !givenUpFor(one)).map(([workgroupId]) => workgroupId),
    isOwned: (workgroupId) => ownedShards.has(workgroupId),
    openingCount: () => [...ownedShards.values()].filter(({ state }) => state.kind === 'opening').length,
    isNowhereElse(workgroupId) {
      const found = ownedShards.get(workgroupId);
      return found ? found.lease.isValid() : postponed.findUnlessLapsed(workgroupId)?.isFailure === true;
    },
    openLoop: (workgroupId) => loopOf(ownedShards.get(workgroupId)),
    openLoops: () => [...ownedShards.values()].flatMap((one) => loopOf(one) ?? []),
    mayTake: (workgroupId) =>
      !ownedShards.has(workgroupId) && clock.now() >= (postponed.find(workgroupId)?.retryAtMs ?? 0),
    describe(workgroupId) {
      const ownedShard = ownedShards.get(workgroupId);
      const hibernates = ownedShard && givenUpFor(ownedShard) === 'hibernates';
      const state = hibernates ? 'hibernating' : ownedShard?.state.kind;
      const waits =
        state === undefined ? postponed.findUnlessLapsed(workgroupId) : postponed.find(workgroupId);
      return {
        state: state ?? (waits ? 'waiting' : 'elsewhere'),
        error: waits?.error ?? null,
        failingSinceMs: waits?.isFailure ? waits.sinceMs : null,
      };
    },
  };
}

/** Why a shard is being given up. Undefined if it is not. */
function givenUpFor({ state }: OwnedShard): GiveUpReason | undefined {
  return state.kind === 'owned' ? undefined : state.givenUpFor;
}

function loopOf(ownedShard: OwnedShard | undefined): ShardLoop | undefined {
  return ownedShard?.state.kind === 'owned' ? ownedShard.state.loop : undefined;
}
