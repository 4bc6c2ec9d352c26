import { setImmediate as turn } from 'node:timers/promises';
import { createLocalLeases, type Leases } from '../../jobs/leases.ts';
import { createOwnedShards } from '../../jobs/owned-shards.ts';
import type { ShardLoop } from '../../jobs/start-shard-loop.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { steadyClockOf, systemClock } from '../../src/lib/time.ts';

/**
 * OwnedShards whose shards have no warehouse. A test sets how long each is idle, and sees what is asked of
 * it.
 */
export function createShardsInMemory(options: { leases?: Partial<Leases> } = {}) {
  const events: string[] = [];
  /** How long each shard is idle, ms. Default: 0. */
  const idleMs = new Map<string, number>();
  /** Shards that cannot be opened now. */
  const broken = new Set<string>();
  /** Shards that have news while they are asked to hibernate. */
  const restless = new Set<string>();
  /** Openings wait for it. */
  let opening: Promise<void> = Promise.resolve();
  const ownedShards = createOwnedShards({
    leases: { ...createLocalLeases(10_000), ...options.leases },
    async open(workgroupId) {
      events.push(`open ${workgroupId}`);
      await opening;
      if (broken.has(workgroupId)) throw new Error('it is broken');
      const shard: ShardLoop = {
        workgroupId,
        health: () => [],
        noteNews: () => void events.push(`news ${workgroupId}`),
        noteChange: () => undefined,
        noteDue: () => undefined,
        noteUse: () => undefined,
        idleMs: () => idleMs.get(workgroupId) ?? 0,
        catchUp: async () => !restless.has(workgroupId),
        stop: async () => 'stopped',
      };
      return shard;
    },
    close: async (workgroupId) => void events.push(`close ${workgroupId}`),
    mayHibernate: async () => true,
    onHibernated: async (workgroupId) => void events.push(`hibernated ${workgroupId}`),
    clock: steadyClockOf(systemClock),
    logger: silentLogger,
  });
  return {
    events,
    idleMs,
    broken,
    restless,
    ownedShards,
    /** Lets openings wait until the returned function is called. */
    holdOpenings(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      opening = promise;
      return resolve;
    },
    async open(...workgroupIds: string[]): Promise<void> {
      for (const workgroupId of workgroupIds) {
        await ownedShards.take(workgroupId);
        await ownedShards.settledLoop(workgroupId);
      }
      events.length = 0;
    },
  };
}

/** Lets everything happen that needs no time. */
export async function settled(): Promise<void> {
  for (let count = 0; count < 20; count++) await turn();
}
