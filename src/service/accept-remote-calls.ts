import { LEASE_MS } from '../../jobs/leases.ts';
import type { Config } from '../config/config.ts';
import { calledAddress } from '../config/worker-settings.ts';
import { machineName } from '../lib/machine-name.ts';
import { startSystemTimer } from '../lib/timer.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { announceWorker } from '../worker-rpc/owner-directory.ts';
import { type RemoteServerOptions, startRemoteServer } from '../worker-rpc/remote-server.ts';
import { openTokens } from './open-control.ts';
import type { Service } from './service.ts';

/**
 * Lets processes of other machines call this worker, and writes its address to Redis.
 * @returns stops it after the current answers
 * @throws TerminalError if the address cannot be used
 */
export async function acceptRemoteCalls(
  config: Pick<Config, 'dataDir' | 'access' | 'worker'>,
  redis: RedisConnection,
  calls: Pick<RemoteServerOptions, 'workerId' | 'pipeline' | 'hasOpen' | 'canWake'>,
  { logger, clock }: Pick<Service, 'logger' | 'clock'>,
): Promise<() => Promise<void>> {
  const { dataDir, worker } = config;
  const tokens = await openTokens(config);
  const server = await startRemoteServer({ ...worker, ...calls, dataDir, tokens, clock, logger });
  const address = {
    workerId: calls.workerId,
    ...calledAddress(worker, server.port),
    machine: machineName(),
  };
  try {
    const options = { leaseMs: LEASE_MS, startTimer: startSystemTimer, logger };
    const withdraw = await announceWorker(redis, address, options);
    logger.info({ host: address.host, port: address.port }, 'worker.accepts-calls');
    return async () => {
      await withdraw();
      await server.end();
    };
  } catch (error) {
    await server.end();
    throw error;
  }
}
