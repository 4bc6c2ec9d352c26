import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  dailyEnergy,
  plainConfig,
  READINGS,
  readings,
  sendReadings,
  startBucketServices,
  statusOf,
} from '../support/bucket-services.ts';
import { checkCommits } from '../support/check-commits.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { runCli } from '../support/run-cli.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

test.skipIf(s3Missing)(
  'the bucket is away for longer than the stream keeps messages: an alarm comes before, and the disk has everything, also after a kill',
  async () => {
    const plain = await createServiceProcess(plainConfig);
    await plain.start();
    await sendReadings(plain, readings(0, READINGS));

    let fate: Fate = 'pass';
    const services = await startBucketServices(({ endpoint }) => startLossyProxy(endpoint, () => fate));
    const { head, untilStored, store, forgetStream } = services;
    const service = await services.create({ stream: { log: 'redis', retention: '40s' } });
    const cwd = join(service.config.dataDir, '..');
    await service.start();
    await sendReadings(service, readings(0, 100));
    await untilStored(100);

    fate = 'lose';
    await sendReadings(service, readings(100, 200));
    await until('the messages have landed', () => statusOf(service)?.storedMessages === 200);
    await until('the alarm is there', () =>
      (statusOf(service)?.troubles ?? []).some(({ message }) => /half of stream\.retention/.test(message)),
    );
    const { code, stdout } = await runCli(['status'], { cwd });
    expect(code).toBe(4);
    expect(stdout).toMatch(
      /failing: workgroup home, committing to the bucket \(commit\): it last succeeded at .*, which is half of stream\.retention ago\. .* Make the bucket reachable/,
    );
    const ready = await fetch(`${service.url}/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toMatch(/half of stream\.retention/);
    // The bucket and the stream do not have these any more.
    await forgetStream();
    await sendReadings(service, readings(200, READINGS));
    await until('all have landed', () => statusOf(service)?.storedMessages === READINGS);
    await forgetStream();
    expect((await head())!.totals.messages).toBe(100);
    await service.kill();

    fate = 'pass';
    await service.start();
    await untilStored(READINGS);
    const expected = JSON.stringify(await dailyEnergy(plain));
    expect(expected).toContain('"energyWh":958');
    await until(
      'the report has all',
      async () => JSON.stringify(await dailyEnergy(service)) === expected,
    ).catch(() => undefined);
    expect(JSON.stringify(await dailyEnergy(service))).toBe(expected);
    await until('the service is ready', async () => (await fetch(`${service.url}/ready`)).ok);
    await until('the status has all', () => statusOf(service)?.storedMessages === READINGS);
    expect(statusOf(service)).toMatchObject({ gaps: 0 });
    expect(await checkCommits(store)).toMatchObject({ claims: 2 });
    expect(await service.stop()).toBe(0);
  },
);
