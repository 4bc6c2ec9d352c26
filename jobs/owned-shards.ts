import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, SECOND_MS, type UtcMs } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { failureWords } from '../src/pipeline/failure-words.ts';
import type { Leases } from './lease.ts';
import { createPostponedShards } from './postponed-shards.ts';
import type { LossReason, ShardLoop } from './start-shard.ts';

/** Why a shard is given up. */
export type GiveUpReason =
  /** The store of leases says that it is not ours any more. */
  | 'lease-lost'
  /** It was not renewed in time. Nobody needs to have taken it. */
  | 'lease-expired'
  | LossReason
  | 'handed-over'
  | 'reconfigured'
  | 'removed'
  | 'makes-room'
  | 'hibernates'
  | 'worker-stops';

/** A shard whose lease this worker has, until it is closed. */
interface OwnedShard {
  state: 'opening' | 'owned' | 'closing';
  /** The lease is being released, so it must not be renewed. */
  isReleased: boolean;
  /** The lease is certainly ours until then, even if the store is not reachable. */
  leaseUntilMs: UtcMs;
  loop: ShardLoop | undefined;
  /** Set once the shard must be given up. Opening then ends in closing. */
  giveUp: GiveUpReason | undefined;
  /** Resolves when the shard is open or could not be opened. */
  opened: Promise<void>;
  /** Resolves when the shard is closed. */
  ended: Promise<void>;
}

/** The lease of a shard, for the shard. */
export interface ShardLease {
  /** False if the lease has run out. Another worker can have the shard then. */
  isValid(): boolean;
  onLost(reason: LossReason): void;
}

export interface OwnedShards {
  /** Takes the lease of a free shard and opens the shard in the background. @returns true if the lease was free */
  take(workgroupId: string): Promise<boolean>;
  /** The open shard of a workgroup. Waits while it is being opened or closed. @returns undefined if it is not open here */
  opened(workgroupId: string): Promise<ShardLoop | undefined>;
  /**
   * Publishes what is left, closes an idle shard, and notes that it needs no worker. The shard stays open if there is news.
   * @returns true if it hibernates
   */
  hibernate(workgroupId: string): Promise<boolean>;
  /** Renews all leases, and gives up shards whose lease is lost. */
  renew(): Promise<void>;
  /** Gives up a shard in the background: stops its work, closes it, then releases the lease. */
  giveUp(workgroupId: string, reason: GiveUpReason): void;
  /** Gives up all shards and waits. */
  giveUpAll(reason: GiveUpReason): Promise<void>;
  /** Releases the leases of shards that are not closed yet, because the process ends soon. No stage of them begins any more. Never throws. */
  releaseAll(): Promise<void>;
  /** Owned shards that are not being given up, oldest first. */
  kept(): string[];
  /** True until a shard is closed. */
  has(workgroupId: string): boolean;
  /** The number of shards that are being opened. */
  opening(): number;
  /** True if no other worker can have the workgroup: its lease is ours, or nobody can open it. */
  holds(workgroupId: string): boolean;
  /** The open shard. */
  find(workgroupId: string): ShardLoop | undefined;
  owned(): ShardLoop[];
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
export type OwnedShardState = OwnedShard['state'] | 'hibernating' | 'waiting' | 'elsewhere';

export interface OwnedShardsOptions {
  leases: Leases;
  /** Opens the shard in the warehouse and starts its work. */
  open: (workgroupId: string, lease: ShardLease) => Promise<ShardLoop>;
  /** Closes the shard in the warehouse. */
  close: (workgroupId: string) => Promise<void>;
  /** True if everything of the stream is in the warehouse of an idle shard, and everything of the warehouse in the lake. */
  mayHibernate: (workgroupId: string) => Promise<boolean>;
  /** Called after an idle shard was closed, and before its lease is released. */
  onHibernated: (workgroupId: string) => Promise<void>;
  clock: Clock;
  logger: Logger;
}

/** When a shard is given up: time for running stages to end, then for the warehouse to close. */
const STAGES_STOP_TIMEOUT_MS = 5 * SECOND_MS;
const WAREHOUSE_CLOSE_TIMEOUT_MS = 6 * SECOND_MS;

export function createOwnedShards(options: OwnedShardsOptions): OwnedShards {
  const { leases, open, close, mayHibernate, onHibernated, clock, logger } = options;
  const ownedShards = new Map<string, OwnedShard>();
  const postponed = createPostponedShards(clock, leases.leaseMs);
  const marginMs = leases.leaseMs / 5;

  async function take(workgroupId: string): Promise<boolean> {
    const askedAtMs = clock.now();
    if (!(await leases.acquireOrRenew(workgroupId))) {
      postponed.remove(workgroupId);
      return false;
    }
    if (!postponed.findTried(workgroupId)) postponed.remove(workgroupId);
    const ownedShard: OwnedShard = {
      state: 'opening',
      isReleased: false,
      leaseUntilMs: askedAtMs + leases.leaseMs,
      loop: undefined,
      giveUp: undefined,
      opened: Promise.resolve(),
      ended: Promise.resolve(),
    };
    ownedShards.set(workgroupId, ownedShard);
    ownedShard.opened = openOrEnd(workgroupId, ownedShard);
    ownedShard.ended = ownedShard.opened;
    return true;
  }

  /** Opens an owned shard. Ends it if that fails, or if it was given up meanwhile. */
  async function openOrEnd(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    // A stage of an earlier ownership may end only now. Its result is not about this one.
    const onLost = (reason: LossReason) => {
      if (ownedShards.get(workgroupId) === ownedShard) giveUp(workgroupId, reason);
    };
    try {
      const isValid = () => !ownedShard.isReleased && !hasRunOut(ownedShard);
      ownedShard.loop = await open(workgroupId, { isValid, onLost });
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
      return end(workgroupId, ownedShard);
    }
    giveUpIfRunOut(workgroupId, ownedShard);
    if (ownedShard.giveUp) return end(workgroupId, ownedShard);
    ownedShard.state = 'owned';
    postponed.remove(workgroupId);
    logger.info({ workgroup: workgroupId }, 'shard.opened');
  }

  async function end(workgroupId: string, ownedShard: OwnedShard): Promise<void> {
    ownedShard.state = 'closing';
    const stopped = (await ownedShard.loop?.stop(STAGES_STOP_TIMEOUT_MS)) ?? 'stopped';
    const closed = await withTimeout(close(workgroupId), WAREHOUSE_CLOSE_TIMEOUT_MS).catch(errorMessage);
    ownedShard.isReleased = true;
    const hibernates = ownedShard.giveUp === 'hibernates' && stopped === 'stopped' && closed === undefined;
    if (hibernates) await onHibernated(workgroupId);
    // A lost lease is not released here, because releasing compares the owner.
    await leases.release(workgroupId, hibernates ? 'hibernated' : 'awake').catch(() => undefined);
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
    if (reason === 'stale-owner')
      postponed.add(workgroupId, 'another worker has taken the shard over', { isFailure: false });
    if (ownedShard.state === 'owned') ownedShard.ended = end(workgroupId, ownedShard);
  }

  /** A process that was stopped continues after its lease. Leases of a single worker never run out. */
  function hasRunOut({ leaseUntilMs }: OwnedShard): boolean {
    return leases.canRunOut && clock.now() >= leaseUntilMs;
  }

  /** Gives up a shard whose lease has run out. @returns true if it has */
  function giveUpIfRunOut(workgroupId: string, ownedShard: OwnedShard): boolean {
    if (!hasRunOut(ownedShard)) return false;
    giveUp(workgroupId, 'lease-expired');
    return true;
  }

  async function renew(): Promise<void> {
    for (const [workgroupId, ownedShard] of ownedShards) giveUpIfRunOut(workgroupId, ownedShard);
    const held = new Map([...ownedShards].filter(([, { isReleased }]) => !isReleased));
    const askedAtMs = clock.now();
    try {
      const lost = new Set(await leases.renew([...held.keys()]));
      for (const [workgroupId, ownedShard] of held) {
        if (lost.has(workgroupId)) giveUp(workgroupId, 'lease-lost');
        else ownedShard.leaseUntilMs = askedAtMs + leases.leaseMs;
      }
    } catch (error) {
      logger.debug({ error: errorMessage(error) }, 'lease.not-renewed');
      for (const [workgroupId, { leaseUntilMs }] of held)
        if (clock.now() >= leaseUntilMs - marginMs) giveUp(workgroupId, 'lease-expired');
    }
  }

  async function opened(workgroupId: string): Promise<ShardLoop | undefined> {
    for (;;) {
      const ownedShard = ownedShards.get(workgroupId);
      if (!ownedShard) return undefined;
      giveUpIfRunOut(workgroupId, ownedShard);
      if (ownedShard.state === 'owned' && !ownedShard.giveUp) return ownedShard.loop;
      await (ownedShard.state === 'opening' ? ownedShard.opened : ownedShard.ended);
    }
  }

  async function hibernate(workgroupId: string): Promise<boolean> {
    const ownedShard = ownedShards.get(workgroupId);
    const loop = ownedShard?.loop;
    if (ownedShard?.state !== 'owned' || !loop || ownedShard.giveUp) return false;
    if (!(await loop.settle()) || !(await mayHibernate(workgroupId))) return false;
    giveUp(workgroupId, 'hibernates');
    await ownedShard.ended;
    return !ownedShards.has(workgroupId) && ownedShard.giveUp === 'hibernates';
  }

  return {
    take,
    opened,
    hibernate,
    giveUp,
    renew,
    async giveUpAll(reason) {
      for (const workgroupId of ownedShards.keys()) giveUp(workgroupId, reason);
      // Opening may end in closing. Its promise covers both.
      await Promise.all([...ownedShards.values()].map(({ ended }) => ended));
    },
    async releaseAll() {
      const releasing = [...ownedShards].map(([workgroupId, ownedShard]) => {
        ownedShard.isReleased = true;
        return leases.release(workgroupId, 'awake');
      });
      await Promise.allSettled(releasing);
    },
    kept: () =>
      [...ownedShards].filter(([, { giveUp: reason }]) => !reason).map(([workgroupId]) => workgroupId),
    has: (workgroupId) => ownedShards.has(workgroupId),
    opening: () => [...ownedShards.values()].filter(({ state }) => state === 'opening').length,
    holds(workgroupId) {
      const found = ownedShards.get(workgroupId);
      if (found) return !found.isReleased && !hasRunOut(found);
      return postponed.findTried(workgroupId)?.isFailure === true;
    },
    find(workgroupId) {
      const found = ownedShards.get(workgroupId);
      return found?.state === 'owned' && !found.giveUp ? found.loop : undefined;
    },
    owned: () =>
      [...ownedShards.values()].flatMap(({ state, loop }) => (state === 'owned' && loop ? [loop] : [])),
    mayTake: (workgroupId) =>
      !ownedShards.has(workgroupId) && clock.now() >= (postponed.find(workgroupId)?.retryAtMs ?? 0),
    describe(workgroupId) {
      const ownedShard = ownedShards.get(workgroupId);
      const state = ownedShard?.giveUp === 'hibernates' ? 'hibernating' : ownedShard?.state;
      const waits = state === undefined ? postponed.findTried(workgroupId) : postponed.find(workgroupId);
      return {
        state: state ?? (waits ? 'waiting' : 'elsewhere'),
        error: waits?.error ?? null,
        failingSinceMs: waits?.isFailure ? waits.sinceMs : null,
      };
    },
  };
}
