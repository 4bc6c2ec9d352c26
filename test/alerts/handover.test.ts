import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { alertStore, openAlertBook } from '../../src/alerts/alert-book.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { startRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess, type ServiceProcess } from '../support/up-process.ts';
import { alertingInput, idleReadings, sendIdle } from './idle-plant.ts';
import { startReceiver } from './watch-fixture.ts';

test('after a handover to another worker on Redis an alert is not repeated, and its recovery comes once', async () => {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  const receiver = await startReceiver();
  const dataDir = join(tempDir(), 'data');
  const input = {
    ...alertingInput(dataDir, receiver.url),
    stream: { log: 'redis' as const },
    queue: { backend: 'redis' as const, redisUrl: redis.url },
    storage: { shared: true },
  };
  const first = await createUpProcess(tempDir(), input);
  const second = await createUpProcess(tempDir(), input);
  const processes: ServiceProcess[] = [first, second];
  try {
    await first.start();
    await second.start();
    expect((await sendIdle(first, idleReadings)).status).toBeLessThan(300);
    await until('the alert has come', () => receiver.received.length > 0, 120_000);
    const book = openAlertBook(alertStore(first.config, 'home'), silentLogger);
    const isNoted = async () => (await book.read()).alarms.some(({ channels }) => channels.ops === 'told');
    await until('it is noted', isNoted, 120_000);
    let owners: ServiceProcess[] = [];
    // A process reports a workgroup that hibernates until it has seen another owner.
    await until('one of them has it', async () => {
      const has = await Promise.all(processes.map(hasHome));
      owners = processes.filter((_, index) => has[index]);
      return owners.length === 1;
    });
    const owner = owners[0]!;
    const other = owner === first ? second : first;
    await owner.kill();
    await until('the other worker has it', () => hasHome(other), 120_000);
    const late = [
      [0, 23.5, 2_000],
      [0, 24.5, 2_000],
    ] as const;
    expect((await sendIdle(other, late)).status).toBeLessThan(300);
    await until('the recovery has come', () => receiver.received.length > 1, 120_000);
    await until('it is over', async () => (await book.read()).alarms.length === 0, 120_000);
    expect(receiver.received.map(({ json }) => json.kind)).toEqual(['raised', 'recovered']);
  } finally {
    await Promise.all(processes.map((one) => one.kill()));
  }
});

/**
 * True if the worker of a process has judged the workgroup: only the owner has its warehouse and its figures.
 */
async function hasHome({ url, token }: ServiceProcess): Promise<boolean> {
  const answer = await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
  return /^wattline_up_to_date\{workgroup="home"\} 1$/m.test(await answer.text());
}
