import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json-text.ts';
import type { Logger } from '../lib/logger.ts';
import { createOnce } from '../storage/create-once.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import { type AlertState, alertStateSchema, emptyAlertState } from './alert-state.ts';

const entrySchema = z.object({
  format: z.literal(1),
  /** The owner that wrote it. */
  writer: z.string(),
  /** Different in each entry. */
  nonce: z.string(),
  state: alertStateSchema,
});

/**
 * Keeps the alerts of a workgroup. Each change is a new entry `alerts/<number>.json`, which is created if
 * absent. So an owner that was replaced can store nothing more, in a folder and in a bucket.
 */
export interface AlertBook {
  /**
   * Takes the book over. Earlier owners can store nothing after that.
   * @throws TransientError if the store does not answer
   */
  claim(): Promise<AlertState>;
  /**
   * `lost`: another owner has taken the book over. `unreachable`: the store does not answer; a later call
   * stores the newer state.
   */
  save(
    state: AlertState,
  ): Promise<{ kind: 'saved' } | { kind: 'lost' } | { kind: 'unreachable'; why: string }>;
  /** The newest state, for a reader that owns nothing. */
  read(): Promise<AlertState>;
}

const ROOT = 'alerts/';
const CLAIMS_MAX = 5;

/** Where the alerts of a workgroup are kept: in the bucket of `storage.s3`, or else in the data folder. */
export function alertStore(
  { dataDir, storage }: Pick<Config, 'dataDir' | 'storage'>,
  workgroupId: string,
): ObjectStore {
  return workgroupStore(storage, workgroupId) ?? createFolderStore(join(dataDir, 'alerts', workgroupId));
}

/** Opens the book. Reads nothing. */
export function openAlertBook(store: ObjectStore, logger: Pick<Logger, 'warn'>): AlertBook {
  let writer = randomUUID();
  let number = 0;
  const keyOf = (of: number) => `${ROOT}${String(of).padStart(9, '0')}.json`;

  async function keys(): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of store.list(ROOT)) found.push(key);
    return found;
  }

  async function newest(): Promise<{ number: number; state: AlertState }> {
    for (let attempt = 1; attempt <= CLAIMS_MAX; attempt++) {
      const key = (await keys()).at(-1);
      if (key === undefined) return { number: 0, state: emptyAlertState };
      const bytes = await store.get(key);
      // A newer entry has replaced it.
      if (!bytes) continue;
      const parsed = entrySchema.safeParse(tryParseJson(bytes.toString('utf8')));
      // A state that nobody can read must not stop the alerts for ever.
      if (!parsed.success) logger.warn({ file: `${store.address}/${key}` }, 'alerts.begun-anew');
      return { number: Number(key.slice(ROOT.length, -5)), state: parsed.data?.state ?? emptyAlertState };
    }
    throw new TransientError(
      'AlertsBusy',
      `other processes change ${store.address}/${ROOT} again and again; try again in a moment`,
    );
  }

  /** @returns false if another owner has an entry with this number or a higher one */
  async function create(candidate: number, state: AlertState): Promise<boolean> {
    const entry = { format: 1, writer, nonce: randomUUID(), state };
    const outcome = await createOnce(store, {
      key: keyOf(candidate),
      bytes: Buffer.from(JSON.stringify(entry)),
      attemptsMax: 3,
    });
    if (outcome.kind === 'unknown') throw outcome.cause;
    if (outcome.kind === 'taken') {
      // The answer to an earlier attempt of this owner was lost.
      const isOwn =
        entrySchema.safeParse(tryParseJson(outcome.bytes.toString('utf8'))).data?.writer === writer;
      return isOwn ? create(candidate + 1, state) : false;
    }
    const all = await keys();
    // A number can be free again, because old entries are deleted.
    if (all.some((key) => key > keyOf(candidate))) return false;
    number = candidate;
    for (const key of all) if (key < keyOf(candidate)) await store.remove(key);
    return true;
  }

  return {
    async claim() {
      writer = randomUUID();
      for (let attempt = 1; attempt <= CLAIMS_MAX; attempt++) {
        const found = await newest();
        if (await create(found.number + 1, found.state)) return found.state;
      }
      throw new TransientError(
        'AlertsBusy',
        `other workers take ${store.address}/${ROOT} over again and again; try again in a moment`,
      );
    },
    async save(state) {
      try {
        return { kind: (await create(number + 1, state)) ? 'saved' : 'lost' };
      } catch (error) {
        return { kind: 'unreachable', why: errorMessage(error) };
      }
    },
    read: async () => (await newest()).state,
  };
}
