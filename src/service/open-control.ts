import { keyFileOf } from '../access/keys.ts';
import { openProcessTokens, type ProcessTokens } from '../access/process-token.ts';
import type { Config } from '../config/config.ts';
import type { OwnerOutcome } from '../http/answer-of-owner.ts';
import { TransientError } from '../lib/errors.ts';
import { machineName } from '../lib/machine-name.ts';
import { openOnce } from '../lib/open-once.ts';
import { SECOND_MS, systemClock } from '../lib/time.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { createControl, hasDoneNothing } from '../worker-rpc/control.ts';
import { createOwnerDirectory } from '../worker-rpc/owner-directory.ts';
import { createRemoteControl, type RemoteControl } from '../worker-rpc/remote-control.ts';
import type { Service } from './service.ts';

/** A control that frees its connection. */
export interface OpenControl extends RemoteControl {
  close(): void;
}

/** If a worker of this data folder cannot open the workgroup, another worker has it already. */
const SECOND_LOOK_MS = SECOND_MS;

type ControlSettings = Pick<Config, 'dataDir' | 'queue' | 'access'>;

/**
 * Calls operations in the worker that has a workgroup open: first a worker of this data folder, then, with
 * the queue in Redis, a worker of any machine.
 * @param shared the connection of this process to the Redis of the queue. Without one, a connection is opened
 *   for the first call that needs it
 */
export function openControl(
  config: ControlSettings,
  { logger }: Pick<Service, 'logger'>,
  shared?: RedisConnection,
): OpenControl {
  const local = createControl(config.dataDir);
  if (config.queue.backend !== 'redis') {
    const close = () => undefined;
    return { ...local, locate: async () => undefined, isServed: local.reaches, close };
  }
  const own = openOnce(() => openQueueRedis(config, logger));
  const tokens = openOnce(() => openTokens(config));

  async function remote(takeoverMs?: number): Promise<RemoteControl> {
    const directory = createOwnerDirectory(shared ?? (await own.get()));
    return createRemoteControl({
      directory,
      tokens: await tokens.get(),
      machine: machineName(),
      ...(takeoverMs !== undefined && { takeoverMs }),
    });
  }

  return {
    async ask(workgroupId, operation, args, options) {
      const here = await local.ask(workgroupId, operation, args, options);
      if (here.kind === 'answer' || (here.kind === 'failed' && !hasDoneNothing(here.error))) return here;
      try {
        const control = await remote(here.kind === 'failed' ? SECOND_LOOK_MS : undefined);
        const there = await control.ask(workgroupId, operation, args, options);
        // The worker of this data folder knows the reason better.
        return here.kind === 'failed' && !isAnswered(there) ? here : there;
      } catch (error) {
        options?.signal?.throwIfAborted();
        if (here.kind === 'failed') return here;
        return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
      }
    },
    async reaches(workgroupId) {
      if (await local.reaches(workgroupId)) return true;
      return remote().then(
        (control) => control.reaches(workgroupId),
        () => false,
      );
    },
    locate: (workgroupId) =>
      remote().then(
        (control) => control.locate(workgroupId),
        () => undefined,
      ),
    isServed: async (workgroupId) => (await remote()).isServed(workgroupId),
    close() {
      void own.ifOpened().then((redis) => redis?.close());
    },
  };
}

/** True if a worker has answered, also with an error of the operation. */
function isAnswered(outcome: OwnerOutcome<unknown>): boolean {
  if (outcome.kind !== 'failed') return outcome.kind === 'answer';
  const { error } = outcome;
  return !(error instanceof TransientError && (error.code === 'NoAnswer' || hasDoneNothing(error)));
}

/**
 * Connects to the Redis of the queue.
 * @throws TransientError if it is not reachable
 */
export async function openQueueRedis(
  { queue }: Pick<Config, 'queue'>,
  logger: Service['logger'],
): Promise<RedisConnection> {
  // Commands with the embedded queue start faster without the library.
  const { openRedisConnection } = await import('../redis/redis-connection.ts');
  return openRedisConnection({ url: queue.redisUrl ?? '', use: 'queue', logger });
}

/** The tokens of calls between processes. @throws InputError if the key file cannot be read */
export function openTokens({ dataDir, access }: Pick<Config, 'dataDir' | 'access'>): Promise<ProcessTokens> {
  const keyFile = keyFileOf({ dataDir, ...access });
  return openProcessTokens({ keyFile, issuer: access.issuer, clock: systemClock });
}
