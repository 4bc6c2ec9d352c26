import type { OwnedShards } from './owned-shards.ts';
import type { ShardLoop } from './start-shard-loop.ts';

/** The workgroups that need an open shard, and how many are open at the same time. */
export interface ShardDemand {
  /**
   * Asks for the shard of a workgroup. It is opened as soon as there is room.
   * @param how `isBrief`: the shard is needed for a moment only, for a job, and not for news or a request
   */
  want(workgroupId: string, how?: { isBrief: boolean }): void;
  /**
   * Asks for the shard and waits.
   * @returns undefined if another worker has it or if it cannot be opened now
   */
  wake(workgroupId: string): Promise<ShardLoop | undefined>;
  /** True if the shard was asked for and is not open yet. */
  isWanted(workgroupId: string): boolean;
  wanted(): string[];
  isBrief(workgroupId: string): boolean;
  /** Another worker has the shard. Does nothing while this worker asks for its lease. */
  drop(workgroupId: string): void;
  /** Opens shards that were asked for. To be called when something has changed, and regularly. */
  openWanted(): void;
  /** Opens no more shards. */
  stop(): void;
}

interface ShardDemandOptions {
  ownedShards: OwnedShards;
  /**
   * False while this worker has its share of the shards, or while the store may not know the leases of other
   * workers.
   */
  mayTakeMore(): boolean;
  /** True if there is room for another open shard. Otherwise it makes room, which takes some time. */
  hasRoom(): boolean;
  /** No more shards are asked for. */
  onNothingWanted(): void;
}

interface Demand {
  isBrief: boolean;
  waiters: Array<(shard: ShardLoop | undefined) => void>;
}

/**
 * What can be done for a shard that was asked for:
 * - `open`: callers get it
 * - `changing`: it is being opened or closed
 * - `postponed`: it could not be opened a short time ago
 * - `full`: neither this shard nor those after it can be opened now
 * - `takeable`: its lease can be asked for
 */
type Verdict = { kind: 'open'; shard: ShardLoop } | { kind: 'changing' | 'postponed' | 'full' | 'takeable' };

/**
 * The shards that are opened at the same time. Opening one takes some 100 ms of CPU time, most of it in one
 * thread.
 */
const OPENINGS_MAX = 4;

export function createShardDemand(options: ShardDemandOptions): ShardDemand {
  const { ownedShards, mayTakeMore, hasRoom, onNothingWanted } = options;
  const demands = new Map<string, Demand>();
  let isOpening = false;
  let isAskedAgain = false;
  let isStopped = false;
  /** The shard with the lease that is being asked for. The answer says who has it. */
  let taking: string | undefined;

  function entryOf(workgroupId: string, isBrief: boolean): Demand {
    const entry = demands.get(workgroupId) ?? { isBrief, waiters: [] };
    entry.isBrief &&= isBrief;
    demands.set(workgroupId, entry);
    return entry;
  }

  function settle(workgroupId: string, shard: ShardLoop | undefined, { isDone = true } = {}): void {
    const entry = demands.get(workgroupId);
    if (isDone) demands.delete(workgroupId);
    for (const answer of entry?.waiters.splice(0) ?? []) answer(shard);
    if (demands.size === 0) onNothingWanted();
  }

  /** Callers that wait come first. */
  const inOrder = () => [...demands].toSorted(([, a], [, b]) => b.waiters.length - a.waiters.length);

  function judge(workgroupId: string, { waiters }: Demand): Verdict {
    const shard = ownedShards.openLoop(workgroupId);
    if (shard) return { kind: 'open', shard };
    if (ownedShards.isOwned(workgroupId)) return { kind: 'changing' };
    if (!ownedShards.mayTake(workgroupId)) return { kind: 'postponed' };
    if (isStopped || ownedShards.openingCount() >= OPENINGS_MAX) return { kind: 'full' };
    // A caller that waits gets its shard even if this worker has its share of the shards already.
    if (waiters.length === 0 && !mayTakeMore()) return { kind: 'full' };
    // This is the last question, because `hasRoom` makes room if there is none.
    return { kind: hasRoom() ? 'takeable' : 'full' };
  }

  async function openTakeable(): Promise<void> {
    for (const [workgroupId, entry] of inOrder()) {
      const verdict = judge(workgroupId, entry);
      switch (verdict.kind) {
        case 'open':
          if (!entry.isBrief) verdict.shard.noteNews();
          settle(workgroupId, verdict.shard);
          break;
        case 'changing':
          // `openWanted` is called again when the opening or closing has ended.
          break;
        case 'postponed':
          settle(workgroupId, undefined, { isDone: false });
          break;
        case 'full':
          return;
        case 'takeable':
          if (await take(workgroupId)) void ownedShards.settledLoop(workgroupId).finally(openWanted);
          // Another worker has it.
          else settle(workgroupId, undefined);
          break;
        default:
          verdict satisfies never;
      }
    }
  }

  async function take(workgroupId: string): Promise<boolean> {
    taking = workgroupId;
    try {
      return await ownedShards.take(workgroupId);
    } finally {
      taking = undefined;
    }
  }

  function openWanted(): void {
    isAskedAgain = true;
    if (isOpening) return;
    isOpening = true;
    void (async () => {
      while (isAskedAgain) {
        isAskedAgain = false;
        // For example, the store of the leases does not answer. The next round tries again.
        await openTakeable().catch(() => undefined);
      }
      isOpening = false;
    })();
  }

  return {
    want(workgroupId, { isBrief } = { isBrief: false }) {
      entryOf(workgroupId, isBrief);
      openWanted();
    },
    wake(workgroupId) {
      const shard = ownedShards.openLoop(workgroupId);
      if (shard) return Promise.resolve(shard);
      const { promise, resolve } = Promise.withResolvers<ShardLoop | undefined>();
      entryOf(workgroupId, false).waiters.push(resolve);
      openWanted();
      return promise;
    },
    isWanted: (workgroupId) => demands.has(workgroupId),
    wanted: () => [...demands.keys()],
    isBrief: (workgroupId) => demands.get(workgroupId)?.isBrief ?? false,
    drop(workgroupId) {
      // A survey can see the new lease before this worker has the answer.
      if (workgroupId !== taking) settle(workgroupId, undefined);
    },
    openWanted,
    stop() {
      isStopped = true;
      for (const workgroupId of [...demands.keys()]) settle(workgroupId, undefined);
    },
  };
}
