import PQueue from 'p-queue';

/** Runs the jobs of each lane of a shard one after another. */
export interface SerialLanes {
  /**
   * Runs `task` when the lane is free. If the same job is running or waiting, does nothing and returns `busy`.
   * @throws the error of the task
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
