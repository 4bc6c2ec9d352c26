import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { createInputs } from '../../src/inputs/inputs.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { createRedisLease } from '../../src/redis/redis-lease.ts';
import type { TaskLease } from '../../src/redis/task-lease.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import { createStream } from '../../src/stream/stream.ts';
import { brokerMissing, startBroker, type TestBroker } from '../support/mosquitto.ts';
import { startQuickTimer } from '../support/quick-timer.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

let broker: TestBroker;
let redis: TestRedis;
beforeAll(async () => {
  if (brokerMissing !== undefined) return;
  [broker, redis] = await Promise.all([startBroker(), startRedis()]);
});
afterAll(async () => {
  await broker?.stop();
  await redis?.stop();
});

function configOf(ids: readonly string[], name = 'garage') {
  const rules = [{ topic: '{device}/power', table: 't', fields: { power: 'payload' } }];
  const mqtt = ids.map((id) => ({ id, url: broker.url, rules }));
  const devices = [{ id: '7c9e6679-7425-40de-944b-e07fc1f90ae7', name }];
  return configSchema.parse({ workgroups: [{ id: 'acme', devices, inputs: { mqtt } }] });
}

/** The inputs of one process. */
function start(lease: TaskLease, config = configOf(['one'])) {
  const options = { clock: systemClock, startTimer: startQuickTimer, logger: silentLogger };
  const stream = createStream({
    openLog: () => createMemoryLog({ ...options, retentionMs: 3_600_000, bytesMax: 1e7 }),
    retentionMs: 3_600_000,
    ...options,
  });
  const workgroups = createWorkgroups(config);
  const inputs = createInputs({ stream, workgroups, lease, ...options });
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= inputs.stop().then(() => stream.close()));
  onTestFinished(stop);
  const connected = () =>
    inputs
      .states()
      .filter(({ connection }) => connection === 'connected')
      .map(({ input }) => input)
      .join();
  return { inputs, workgroups, stop, connected };
}

describe.skipIf(brokerMissing)('the inputs of a process', () => {
  test('with a shared log run in one process, and in another one after it has ended', {
    tags: ['slow'],
  }, async () => {
    const connection = await openRedisConnection({
      url: redis.url,
      sentinels: undefined,
      replicasMin: 0,
      logger: silentLogger,
    });
    onTestFinished(() => connection.close());
    const lease = () =>
      createRedisLease({ redis: connection, key: 'inputs', leaseMs: 1_500, clock: systemClock });
    const first = start(lease());
    await until('the first is connected', () => first.connected() === 'one');
    const second = start(lease());
    for (let look = 0; look < 10; look++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect([first.connected(), second.inputs.states()]).toEqual(['one', []]);
    }
    await first.stop();
    await until('the second is connected', () => second.connected() === 'one');
  });

  test('stop when another process may have the logs', async () => {
    let mayRun = true;
    const { inputs, connected } = start({
      acquireOrRenew: async () => mayRun,
      release: async () => undefined,
    });
    await until('it is connected', () => connected() === 'one');
    mayRun = false;
    await until('it has stopped', () => inputs.states().length === 0);
  });

  test('follow the configuration, and those that have not changed stay connected', async () => {
    const always = { acquireOrRenew: async () => true, release: async () => undefined };
    const { inputs, workgroups, connected } = start(always, configOf(['one', 'two']));
    await until('both are connected', () => connected() === 'one,two');
    const sinceOf = (id: string) => inputs.states().find(({ input }) => input === id)?.sinceMs;
    const since = sinceOf('one');
    workgroups.replace(configOf(['one', 'three']));
    await until('the new one is connected, and the old one is gone', () => connected() === 'one,three');
    expect(sinceOf('one')).toBe(since);
    workgroups.replace(configOf(['one', 'three'], 'renamed'));
    await until(
      'they are connected with the new devices',
      () => connected() === 'one,three' && sinceOf('one') !== since,
    );
    workgroups.replace(configSchema.parse({ workgroups: [{ id: 'acme' }] }));
    await until('all are gone', () => inputs.states().length === 0);
  });
});
