import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hashFile } from '../lib/durable-files.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { runAtATime } from '../lib/run-at-a-time.ts';
import { type Clock, DAY_MS, elapsedOf, MINUTE_MS } from '../lib/time.ts';
import { createOnce } from '../storage/create-once.ts';
import type { ListedObject, ObjectStore } from '../storage/object-store.ts';
import {
  byPeriod,
  type ExportLedger,
  type ExportRun,
  isPending,
  progressSchema,
  runName,
  runSchema,
} from './export-ledger.ts';

interface StoredLedgerOptions {
  /** The place of the workgroup in the bucket. */
  store: ObjectStore;
  exportId: string;
  /** The local folder of files that are not delivered yet. */
  outbox: string;
  clock: Clock;
  /** The name of this process in its entries. Default: a random text of this process. */
  holder?: string;
}

const entrySchema = z.object({
  format: z.literal(1),
  /** Different in each entry, so that a writer recognizes its own entry. */
  nonce: z.string(),
  atMs: z.number(),
  /** The process that works on the run. Null between attempts. */
  claimedBy: z.string().nullable(),
  run: runSchema.optional(),
  progress: progressSchema.optional(),
});
type Entry = z.output<typeof entrySchema>;

/** After each step of an attempt, other processes do not touch the run for this long. */
export const CLAIM_MS = 2 * MINUTE_MS;
/** The ledger is read again after this time, even if no other process works on the export. */
const FRESH_MS = 5 * MINUTE_MS;
/** A file that no run names is kept for this long, because it may belong to an attempt of another process. */
const ORPHAN_MS = DAY_MS;
const READS_MAX = 16;
const LOADS_MAX = 3;
const ENTRIES_CACHED_MAX = 20_000;
const thisProcess = randomUUID();

/** Entries of all ledgers of this process. Objects never change, so one read is enough. */
const cache = new Map<string, Entry>();

/**
 * Opens the ledger of an export in the bucket, below `exports/<id>/` of the workgroup. Each change is a new
 * object that is created if absent.
 *
 *     progress/<number>.json     how far the schedule was processed
 *     runs/<run>/<number>.json   the states of a run; the highest number counts
 *     outbox/<sha256>            files that are not delivered yet
 *
 * A process that has not read the newest state of a run cannot store another one, so it stops before it
 * delivers anything.
 */
export function openStoredLedger(options: StoredLedgerOptions): ExportLedger {
  const { store, exportId, outbox, clock, holder = thisProcess } = options;
  const root = `exports/${exportId}/`;
  const fileKey = (sha256: string) => `${root}outbox/${sha256}`;
  /** The newest entry of each document, and its number. */
  let newest = new Map<string, { number: number; entry: Entry }>();
  let loadedAtMs = Number.NEGATIVE_INFINITY;

  async function load(): Promise<typeof newest> {
    for (let load = 1; elapsedOf(clock) - loadedAtMs >= FRESH_MS; load++) {
      const beganAtMs = elapsedOf(clock);
      const newestEntries = await readNewest();
      // An entry was replaced and deleted meanwhile.
      if (!newestEntries && load < LOADS_MAX) continue;
      if (!newestEntries)
        throw new TransientError(
          'ExportTaken',
          `other processes change export ${exportId} again and again; try again in a moment`,
        );
      newest = newestEntries;
      loadedAtMs = beganAtMs;
    }
    return newest;
  }

  async function readNewest(): Promise<typeof newest | undefined> {
    const objects = new Map<string, { number: number; object: ListedObject }>();
    for await (const object of store.list(root)) {
      const parts = /^(?<name>progress|runs\/[^/]+)\/(?<number>\d{6})\.json$/.exec(
        object.key.slice(root.length),
      )?.groups;
      // They are listed in the order of their numbers.
      if (parts) objects.set(parts.name!, { number: Number(parts.number), object });
    }
    const read: typeof newest = new Map();
    await runAtATime([...objects], READS_MAX, async ([name, { number, object }]) => {
      const entry = await readEntry(object);
      if (entry) read.set(name, { number, entry });
    });
    return read.size === objects.size ? read : undefined;
  }

  async function readEntry({ key, modifiedAtMs }: ListedObject): Promise<Entry | undefined> {
    const name = `${store.address}/${key} ${modifiedAtMs}`;
    const known = cache.get(name);
    if (known) return known;
    const bytes = await store.get(key);
    if (!bytes) return undefined;
    const entry = parseEntry(bytes, `${store.address}/${key}`);
    if (cache.size >= ENTRIES_CACHED_MAX) cache.clear();
    cache.set(name, entry);
    return entry;
  }

  /** Creates the next entry of a document, and deletes the older ones. */
  async function put(name: string, facts: Pick<Entry, 'claimedBy' | 'run' | 'progress'>): Promise<void> {
    const number = ((await load()).get(name)?.number ?? 0) + 1;
    const keyOf = (of: number) => `${root}${name}/${String(of).padStart(6, '0')}.json`;
    const entry = entrySchema.parse({ format: 1, nonce: randomUUID(), atMs: clock.now(), ...facts });
    const bytes = Buffer.from(`${JSON.stringify(entry)}\n`);
    const outcome = await createOnce(store, { key: keyOf(number), bytes });
    if (outcome.kind === 'unknown') {
      reload();
      throw outcome.cause;
    }
    const others: string[] = [];
    // Older entries are deleted, so this number may be free although there is a newer entry. The list shows
    // that.
    for await (const { key } of store.list(`${root}${name}/`)) if (key !== keyOf(number)) others.push(key);
    if (outcome.kind === 'taken' || others.some((key) => key > keyOf(number))) {
      reload();
      throw takenOver(exportId);
    }
    newest.set(name, { number, entry });
    for (const key of others) await store.remove(key);
  }

  const nameOf = (run: ExportRun) => `runs/${runName(run)}`;
  const reload = () => {
    loadedAtMs = Number.NEGATIVE_INFINITY;
  };
  const runs = async () =>
    [...(await load()).values()].flatMap(({ entry }) => entry.run ?? []).sort(byPeriod);
  return {
    outbox,
    reload,
    progress: async () => (await load()).get('progress')?.entry.progress,
    setProgress: (progress) => put('progress', { claimedBy: null, progress: { format: 1, ...progress } }),
    pending: async () => (await runs()).filter(isPending),
    runs,
    runsOf: async (period) => (await runs()).filter((run) => run.period === period),
    async claim(run) {
      const entry = (await load()).get(nameOf(run))?.entry;
      const isOther = entry && entry.claimedBy !== null && entry.claimedBy !== holder;
      if (isOther && Math.abs(clock.now() - entry.atMs) < CLAIM_MS)
        throw new TransientError(
          'ExportBusy',
          `another process works on export ${exportId}, ${runName(run)}; try again in two minutes`,
        );
      await put(nameOf(run), { claimedBy: holder, run });
    },
    save: (run, { isWorking } = { isWorking: false }) =>
      put(nameOf(run), { claimedBy: isWorking ? holder : null, run }),
    async provideFile({ state, file }) {
      if (state === 'planned' || !file) return false;
      const path = join(outbox, file.name);
      const found = await stat(path).catch(() => undefined);
      if (found?.size === file.bytes && (await hashFile(path)) === file.sha256) return true;
      await mkdir(outbox, { recursive: true, mode: 0o700 });
      await rm(path, { force: true });
      return store.download(fileKey(file.sha256), path, file);
    },
    async keepFile({ name, bytes, sha256 }, signal) {
      await store.put(fileKey(sha256), { path: join(outbox, name), bytes, sha256 }, signal);
    },
    async dropFile({ name, sha256 }) {
      await rm(join(outbox, name), { force: true });
      await store.remove(fileKey(sha256));
      await removeOrphans();
    },
  };

  /** A process that is killed before it notes its file leaves the file in the bucket. */
  async function removeOrphans(): Promise<void> {
    const needed = new Set((await runs()).filter(isPending).map(({ file }) => file && fileKey(file.sha256)));
    for await (const { key, modifiedAtMs } of store.list(fileKey('')))
      if (!needed.has(key) && clock.now() - modifiedAtMs > ORPHAN_MS) await store.remove(key);
  }
}

/** The ids of the exports that have a ledger in the place of a workgroup. */
export async function storedExportIds(store: ObjectStore): Promise<string[]> {
  const ids = new Set<string>();
  for await (const { key } of store.list('exports/')) ids.add(key.split('/')[1]!);
  return [...ids];
}

function parseEntry(bytes: Buffer, address: string): Entry {
  try {
    return entrySchema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw new TerminalError(
      'ExportLedgerUnreadable',
      `${address} is not a valid entry of an export; delete it, then the earlier state counts, or the period is exported again`,
      { cause },
    );
  }
}

function takenOver(exportId: string): TransientError {
  return new TransientError(
    'ExportTaken',
    `another process has changed export ${exportId} meanwhile; this one stops, and a worker continues`,
  );
}
