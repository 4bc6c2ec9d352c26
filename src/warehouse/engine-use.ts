/** What DuckDB may use for one open file. */
export interface EngineUse {
  /**
   * Lets DuckDB use all its threads while `work` runs. At other times it has one thread, because with several
   * threads it also divides small statements. For these the division costs more CPU time than the statement
   * itself.
   */
  withAllThreads<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Changes the memory that DuckDB may use for this file. */
  limitMemory(megabytes: number): Promise<void>;
  /** Gives memory that DuckDB has freed back to the operating system. Allocators would keep it for later. */
  releaseMemory(): Promise<void>;
}

/**
 * The limits of a file that was opened with one thread and this memory.
 * @param run runs a statement on the file that is open now
 */
export function createEngineUse(
  limits: { threads: number; memoryMegabytes: number },
  run: (sql: string) => Promise<unknown>,
): EngineUse {
  let { memoryMegabytes } = limits;
  /** Calls of `withAllThreads` that run. */
  let threadUsers = 0;
  let settingThreads: Promise<unknown> = Promise.resolve();

  /** Sets the number of threads that the running calls need, one call after the other. */
  function setThreads(): Promise<unknown> {
    if (limits.threads === 1) return settingThreads;
    const set = () => run(`SET GLOBAL threads = ${threadUsers > 0 ? Math.floor(limits.threads) : 1}`);
    // A failure is ignored, because the work does not need more threads. If the warehouse is lost, the work
    // itself reports it.
    settingThreads = settingThreads.then(set).catch(() => undefined);
    return settingThreads;
  }

  // DuckDB frees memory whenever the limit is set, also to the same value.
  async function releaseMemory(): Promise<void> {
    await run(`SET GLOBAL memory_limit = '${Math.floor(memoryMegabytes)}MiB'`);
  }

  return {
    async withAllThreads(work) {
      threadUsers++;
      await (threadUsers === 1 ? setThreads() : settingThreads);
      try {
        return await work();
      } finally {
        threadUsers--;
        if (threadUsers === 0) await setThreads();
      }
    },
    async limitMemory(megabytes) {
      // Setting the limit also frees memory, which takes 10 ms. With many open warehouses that would happen
      // again and again, so an unchanged limit is not set.
      if (megabytes === memoryMegabytes) return;
      memoryMegabytes = megabytes;
      await releaseMemory();
    },
    releaseMemory,
  };
}
