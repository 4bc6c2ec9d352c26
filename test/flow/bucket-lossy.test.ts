import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  READINGS,
  readings,
  sendReadings,
  startBucketServices,
  statusOf,
} from '../support/bucket-services.ts';
import { checkCommits } from '../support/check-commits.ts';
import { startLossyProxy } from '../support/lossy-proxy.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';

test.skipIf(s3Missing)(
  'a new machine takes a workgroup over at the first attempt, even if each object must be asked for twice',
  async () => {
    /** The addresses that were asked for. Undefined while nothing is lost. */
    let asked: Set<string> | undefined;
    const { create, untilStored, store } = await startBucketServices(({ endpoint }) =>
      startLossyProxy(endpoint, ({ method, path }) => {
        if (method !== 'GET' || !asked || asked.has(path)) return 'pass';
        asked.add(path);
        return 'lose';
      }),
    );
    const first = await create();
    const second = await create();
    await first.start();
    await sendReadings(first, readings(0, 100));
    await untilStored(100);
    await first.kill();
    rmSync(first.config.dataDir, { recursive: true });

    asked = new Set();
    await second.start();
    await sendReadings(second, readings(100, READINGS));
    await untilStored(READINGS);
    expect([...asked].some((path) => path.includes('/snapshots/'))).toBe(true);
    expect(await checkCommits(store)).toMatchObject({ claims: 2 });
    await until('the status has all', () => statusOf(second)?.storedMessages === READINGS);
    expect(statusOf(second)).toMatchObject({ gaps: 0 });
    expect(await second.stop()).toBe(0);
  },
);
