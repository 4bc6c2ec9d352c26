import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';

/**
 * A script is sent as its sum, and as its text only if Redis does not have it yet. A short script is beside
 * the code that runs it; the script of the log is in `lua/`.
 */
interface RedisScript {
  lua: string;
  sha: string;
}

type RedisValue = string | number;

export interface StoredValue {
  key: string;
  value: Uint8Array;
  /** Milliseconds after which Redis may delete the value. */
  keptMs: number;
}

export type RunScript = (
  script: RedisScript,
  keys: readonly string[],
  values: readonly RedisValue[],
  stored?: StoredValue,
) => Promise<unknown>;

/** Replicas must confirm a value within this time. Other commands wait meanwhile. */
const REPLICAS_MS = 500;

export function redisScript(lua: string): RedisScript {
  return { lua, sha: hash('sha1', lua) };
}

/**
 * Makes the function that runs a script, and first stores a value in the same transaction if there is one. It
 * throws RedisNotReplicated if fewer than `replicasMin` replicas have the value, and errors of the library.
 * `defineCommand` of ioredis is not used, because in a transaction it does not notice that Redis does not
 * have the script: the error comes with EXEC.
 */
export function createScriptRunner(commands: Redis, host: string, replicasMin: number): RunScript {
  const call = async (
    command: 'EVALSHA' | 'EVAL',
    values: readonly RedisValue[],
    stored: StoredValue | undefined,
  ): Promise<unknown> => {
    if (stored === undefined) return commands.callBuffer(command, ...values);
    const { key, value, keptMs } = stored;
    // The commands are sent one by one, because a pipeline copies the value once more.
    const [, , , answers, replicas] = await Promise.all([
      commands.call('MULTI'),
      commands.set(key, Buffer.from(value.buffer, value.byteOffset, value.byteLength), 'PX', keptMs),
      commands.call(command, ...values),
      commands.call('EXEC'),
      // WAIT counts replicas for the writes of its own connection.
      replicasMin === 0 ? 0 : commands.call('WAIT', replicasMin, REPLICAS_MS),
    ]);
    const [, answer] = answers as unknown[];
    if (answer instanceof Error) throw answer;
    if (Number(replicas) < replicasMin)
      throw new TransientError(
        'RedisNotReplicated',
        `${replicas} of at least ${formatCountOf(replicasMin, 'replica')} of Redis at ${host} had the messages within ${REPLICAS_MS} ms (stream.redisReplicasMin); they are stored, but not acknowledged: start the replicas, or lower this setting`,
      );
    return answer;
  };
  return ({ lua, sha }, keys, values, stored) => {
    const rest = [keys.length, ...keys, ...values];
    return call('EVALSHA', [sha, ...rest], stored).catch((error) => {
      if (!errorMessage(error).startsWith('NOSCRIPT')) throw error;
      return call('EVAL', [lua, ...rest], stored);
    });
  };
}
