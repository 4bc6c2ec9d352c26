import PQueue from 'p-queue';

/** Keeps apart, within one shard, what must not run at once. */
export interface SerialLanes {
  /**
   * Runs `task` once the lane is free. Where the same job already runs or waits, nothing happens and the answer is
   * `busy`: a tick that finds its predecessor still at work has nothing to add.
   * @throws what the task throws
   */
  run(lane: string, job: string, task: () => Promise<void>): Promise<'done' | 'busy'>;
}

export function createSerialLanes(): SerialLanes {
  const present = new Set<string>();
  const queues = new Map<string, PQueue>();
  return {
    async run(lane, job, task) {
      if (present.has(job)) return 'busy';
      present.add(job);
      const queue = queues.get(lane) ?? new PQueue({ concurrency: 1 });
      queues.set(lane, queue);
      try {
        await queue.add(task);
        return 'done';
      } finally {
        present.delete(job);
      }
    },
  };
}
