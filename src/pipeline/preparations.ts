import type { Logger } from '../lib/logger.ts';
import { preparedAt, prepareTakeOver, removePrepared } from '../replica/prepare-take-over.ts';
import { repeatRequests } from '../storage/repeat-requests.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import { type Assignment, lakeRoot, warehousePath } from './assignment.ts';

/** The warehouses that were fetched before their workgroups are claimed. */
interface Preparations {
  /** Fetches the warehouse of the newest commit. @throws as `prepareTakeOver` does */
  prepare(assignment: Assignment): Promise<void>;
  /**
   * Waits for a preparation that is under way, because it is faster than starting again. Then opens the
   * workgroup, which uses the prepared files.
   */
  use<Result>(workgroupId: string, open: () => Promise<Result>): Promise<Result>;
  /** Ends a preparation and removes its files, unless they are used. */
  discard(workgroupId: string): Promise<void>;
  /** Discards everything. */
  stop(): Promise<void>;
}

interface Preparation {
  assignment: Assignment;
  abort: AbortController;
  fetchedBytes: Promise<number | undefined>;
}

export function createPreparations(logger: Logger): Preparations {
  const preparations = new Map<string, Preparation>();

  async function discard(workgroupId: string): Promise<void> {
    const preparation = preparations.get(workgroupId);
    if (!preparation) return;
    preparations.delete(workgroupId);
    preparation.abort.abort(new Error('the workgroup is not taken over'));
    await preparation.fetchedBytes.catch(() => undefined);
    await remove(preparation);
  }

  return {
    async prepare(assignment) {
      const { workgroup, storage = {} } = assignment;
      const place = workgroupStore(storage, workgroup.id);
      if (!place) return;
      const startMs = performance.now();
      const discarded = discard(workgroup.id);
      const abort = new AbortController();
      const { signal } = abort;
      const fetch = async () => {
        await discarded;
        signal.throwIfAborted();
        return prepareTakeOver({
          store: repeatRequests(place),
          warehousePath: warehousePath(assignment),
          root: lakeRoot(assignment),
          signal,
        });
      };
      const fetchedBytes = fetch();
      // It is known before it waits for the one before it, so that it can be discarded from now on.
      preparations.set(workgroup.id, { assignment, abort, fetchedBytes });
      const bytes = await fetchedBytes;
      const durationMs = Math.round(performance.now() - startMs);
      if (bytes !== undefined) logger.info({ workgroup: workgroup.id, bytes, durationMs }, 'bucket.prepared');
    },
    async use(workgroupId, open) {
      const preparation = preparations.get(workgroupId);
      if (!preparation) return open();
      preparations.delete(workgroupId);
      await preparation.fetchedBytes.catch(() => undefined);
      return open().finally(() => remove(preparation));
    },
    discard,
    async stop() {
      await Promise.all([...preparations.keys()].map(discard));
    },
  };
}

function remove({ assignment }: Preparation): Promise<void> {
  return removePrepared(preparedAt(warehousePath(assignment), lakeRoot(assignment)));
}
