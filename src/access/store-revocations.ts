import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { repeat } from '../lib/repeat.ts';
import { runAtATime } from '../lib/run-at-a-time.ts';
import { type Clock, elapsedOf, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { openTokenFiles, revokedFileOf } from './token-files.ts';

interface StoreRevocationsOptions {
  /** The folder `access/` in it has the list of revoked tokens, see `createAccess`. */
  dataDir: string;
  /** The store of the data that all workgroups of the installation share, see `serviceStore`. */
  store: Pick<ObjectStore, 'address' | 'createKey' | 'list'>;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

const FOLDER = 'revoked/';
const LIST_EVERY_MS = 30 * SECOND_MS;
/** Commands of this machine and other machines, through Redis, write to the file. A look costs one `stat`. */
const LOOK_EVERY_MS = SECOND_MS;
/** A store that has failed is asked again after this time. */
const RETRY_PAUSE_MS = 5 * SECOND_MS;
/** A start and a command wait this long for the store. */
const STORE_TIMEOUT_MS = 10 * SECOND_MS;
const REQUESTS_AT_ONCE = 8;
/** Commands refuse other ids. */
const idPattern = /^[\w-]{1,128}$/;

/**
 * Stores one revocation at once.
 * @throws TransientError if the store cannot be reached; a running process that uses this data folder stores
 *   it later
 */
export async function storeRevocation(
  store: Pick<ObjectStore, 'address' | 'createKey'>,
  tokenId: string,
  revokedAtMs: UtcMs,
): Promise<void> {
  await inTime(store, (signal) => createRevocationObject(store, tokenId, revokedAtMs, signal));
}

/**
 * Keeps the revoked tokens of all data folders in the store, one object for each. A token that is revoked in
 * one folder is refused in all after at most 30 s, even without Redis, and even if all machines are replaced.
 * While the store is away, the file of each folder counts.
 * @returns stops it
 * @throws TransientError if the store cannot be read, and this data folder has never received a revocation or
 *   read the store. It would accept all revoked tokens
 */
export async function syncRevocations(options: StoreRevocationsOptions): Promise<() => Promise<void>> {
  const { dataDir, store, clock, startTimer, logger } = options;
  const folder = join(dataDir, 'access');
  const files = openTokenFiles(folder);
  const file = revokedFileOf(folder);
  const stopping = new AbortController();
  /** The ids that the store has. */
  const stored = new Set<string>();
  let nextListAtMs = 0;
  let pausedUntilMs = 0;
  /** Why the last attempt failed. Undefined if it succeeded. */
  let failure: string | undefined;

  async function readStored(signal: AbortSignal): Promise<void> {
    const known = files.revoked();
    for await (const { key, modifiedAtMs } of store.list(FOLDER, { signal })) {
      const tokenId = key.slice(FOLDER.length);
      if (!idPattern.test(tokenId)) continue;
      // The key has the whole revocation. So a damaged object counts, too.
      if (!known.has(tokenId)) files.addRevoked({ tokenId, revokedAtMs: modifiedAtMs });
      stored.add(tokenId);
    }
    // Creates the file, even empty. Its existence is the proof that this folder has read the store.
    appendFileSync(file, '', { mode: 0o600 });
  }

  async function storeMissing(signal: AbortSignal): Promise<void> {
    const missing = [...files.revoked()].filter(([id]) => !stored.has(id) && idPattern.test(id));
    await runAtATime(missing, REQUESTS_AT_ONCE, async ([tokenId, revokedAtMs]) => {
      await createRevocationObject(store, tokenId, revokedAtMs, signal);
      stored.add(tokenId);
    });
  }

  async function synchronize(signal: AbortSignal): Promise<void> {
    const nowMs = elapsedOf(clock);
    if (nowMs >= nextListAtMs) {
      await readStored(signal);
      nextListAtMs = nowMs + LIST_EVERY_MS;
    }
    await storeMissing(signal);
  }

  async function attempt(action: () => Promise<void>): Promise<void> {
    if (elapsedOf(clock) < pausedUntilMs) return;
    try {
      await action();
      failure = undefined;
    } catch (error) {
      pausedUntilMs = elapsedOf(clock) + RETRY_PAUSE_MS;
      if (failure === undefined && !stopping.signal.aborted)
        logger.warn({ error: errorMessage(error) }, 'access.revocations-not-stored');
      failure = errorMessage(error);
    }
  }

  await attempt(() => inTime(store, synchronize));
  if (failure !== undefined && !existsSync(file))
    throw new TransientError(
      'RevocationsUnknown',
      `the revoked tokens cannot be read (${failure}), and this machine has never read them, so it would accept them; start again when the bucket answers`,
    );
  const repeating = repeat(LOOK_EVERY_MS, startTimer, () => attempt(() => synchronize(stopping.signal)));
  return async () => {
    stopping.abort();
    await repeating.stop();
  };
}

async function createRevocationObject(
  store: Pick<ObjectStore, 'createKey'>,
  tokenId: string,
  revokedAtMs: UtcMs,
  signal: AbortSignal,
): Promise<void> {
  // The first time of an id counts.
  await store.createKey(FOLDER + tokenId, Buffer.from(JSON.stringify({ tokenId, revokedAtMs })), signal);
}

async function inTime(
  { address }: Pick<ObjectStore, 'address'>,
  action: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const signal = AbortSignal.timeout(STORE_TIMEOUT_MS);
  try {
    await action(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = `${address} has not answered within ${STORE_TIMEOUT_MS / SECOND_MS} s`;
    throw new TransientError('NoAnswer', message, { cause: error });
  }
}
