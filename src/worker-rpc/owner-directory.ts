import { z } from 'zod';
import { errorMessage } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json-text.ts';
import type { Logger } from '../lib/logger.ts';
import { repeat } from '../lib/repeat.ts';
import type { StartTimer } from '../lib/timer.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { KEY_PREFIX, leaseKey, workersKey } from '../redis/redis-keys.ts';
import { redisScript } from '../redis/redis-script.ts';

const addressSchema = z.object({
  workerId: z.string().min(1),
  host: z.string().min(1),
  port: z.int().min(1).max(65_535),
  machine: z.string(),
});
/** Where a worker listens for calls of other processes. It contains no secret. */
export type WorkerAddress = z.infer<typeof addressSchema>;

/** Who has a workgroup open. */
export type FoundOwner =
  | { kind: 'owner'; owner: WorkerAddress }
  /** A worker has the lease, and its address is not known yet. */
  | { kind: 'unknown' }
  /** No worker has the lease. Each of these living workers can open the workgroup. */
  | { kind: 'free'; workers: WorkerAddress[] };

export interface OwnerDirectory {
  /** @throws TransientError if Redis cannot be reached */
  find(workgroupId: string): Promise<FoundOwner>;
}

const addressKey = (workerId: string) => `${KEY_PREFIX}:address:${workerId}`;

/**
 * Keys: the lease and the living workers. Argument: the start of the keys of addresses. Answers with the
 * state and addresses.
 */
const FIND = redisScript(`
  local owner = redis.call('GET', KEYS[1])
  if owner then return {'owned', redis.call('GET', ARGV[1] .. owner)} end
  local answer = {'free'}
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    local address = redis.call('GET', ARGV[1] .. id)
    if address then answer[#answer + 1] = address end
  end
  return answer`);

const ANNOUNCE = redisScript(`return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`);
const WITHDRAW = redisScript(`return redis.call('DEL', KEYS[1])`);

/** Finds owners by the leases in Redis, so a worker that has lost its lease is no longer found. */
export function createOwnerDirectory(redis: Pick<RedisConnection, 'run'>): OwnerDirectory {
  return {
    async find(workgroupId) {
      const keys = [leaseKey(KEY_PREFIX, workgroupId), workersKey(KEY_PREFIX)];
      const [state, ...texts] = (await redis.run(FIND, keys, [addressKey('')])) as Array<Buffer | null>;
      const addresses = texts.flatMap((text) => parseAddress(text) ?? []);
      if (String(state) === 'free') return { kind: 'free', workers: addresses };
      const [owner] = addresses;
      return owner ? { kind: 'owner', owner } : { kind: 'unknown' };
    },
  };
}

/**
 * Writes the address of this worker to Redis, and keeps it there: it is written again after Redis has lost
 * it.
 * @param options.leaseMs the address of a killed worker is deleted after this time
 * @returns removes it
 */
export async function announceWorker(
  redis: Pick<RedisConnection, 'run' | 'onReady'>,
  address: WorkerAddress,
  options: { leaseMs: number; startTimer: StartTimer; logger: Logger },
): Promise<() => Promise<void>> {
  const { leaseMs, startTimer, logger } = options;
  const key = addressKey(address.workerId);
  const announce = async () => void (await redis.run(ANNOUNCE, [key], [JSON.stringify(address), leaseMs]));
  let isFailing = false;
  const announceAgain = async () => {
    try {
      await announce();
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ error: errorMessage(error) }, 'worker.address-not-written');
      isFailing = true;
    }
  };
  await announce();
  const repeating = repeat(leaseMs / 3, startTimer, announceAgain);
  const stopListening = redis.onReady(() => void announceAgain());
  return async () => {
    stopListening();
    await repeating.stop();
    await redis.run(WITHDRAW, [key], []).catch(() => undefined);
  };
}

function parseAddress(text: Buffer | null | undefined): WorkerAddress | undefined {
  return addressSchema.safeParse(tryParseJson(String(text))).data;
}
