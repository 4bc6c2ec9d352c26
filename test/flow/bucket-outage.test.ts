import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  KNOWN_WH,
  READINGS,
  readings,
  reportedWh,
  sendReadings,
  startBucketServices,
  statusOf,
} from '../support/bucket-services.ts';
import { checkCommits } from '../support/check-commits.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { runCommand } from '../support/run-command.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';

test.skipIf(s3Missing)(
  'the bucket is away for longer than the stream keeps messages: an alarm comes before, and the disk has everything, also after a kill',
  async () => {
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
    const { code, stdout } = await runCommand(['status'], { cwd });
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
    let reported: number[] = [];
    await until('the report has all', async () => {
      reported = await reportedWh(service);
      return JSON.stringify(reported) === JSON.stringify(KNOWN_WH);
    }).catch(() => undefined);
    expect(reported).toEqual(KNOWN_WH);
    await until('the service is ready', async () => (await fetch(`${service.url}/ready`)).ok);
    await until('the status has all', () => statusOf(service)?.storedMessages === READINGS);
    expect(statusOf(service)).toMatchObject({ gaps: 0 });
    expect(await checkCommits(store)).toMatchObject({ claims: 2 });
    expect(await service.stop()).toBe(0);
  },
);
