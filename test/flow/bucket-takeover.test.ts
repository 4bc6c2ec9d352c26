import { rmSync } from 'node:fs';
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
import { s3Missing } from '../support/s3-for-tests.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** The lease of a worker, and what a new owner needs beside it. */
const TAKEN_MS_MAX = 10_000 + 2_000;
const RESTORE_MS_MAX = 10_000;

test.skipIf(s3Missing)(
  'a machine is killed and its disk is lost: another one continues from the bucket, with the same energy',
  { timeout: 240_000 },
  async () => {
    const plain = await createServiceProcess(plainConfig);
    await plain.start();
    await sendReadings(plain, readings(0, READINGS));

    const { create, head, untilStored, forgetStream } = await startBucketServices();
    const first = await create();
    const second = await create();
    await first.start();
    await sendReadings(first, readings(0, 100));
    await untilStored(100);
    await second.start();
    await sendReadings(second, readings(100, 200));
    await untilStored(200);
    expect(statusOf(second)?.bucket).toBeUndefined();
    await forgetStream();
    // The bucket lacks these: they are only in the stream.
    await sendReadings(first, readings(200, 250));
    const before = (await head())!;
    await first.kill();
    const killedAtMs = performance.now();
    rmSync(first.config.dataDir, { recursive: true });
    await sendReadings(second, readings(250, READINGS));
    await until(
      'another machine has claimed the workgroup',
      async () => BigInt((await head())!.ownerEpoch) > BigInt(before.ownerEpoch),
    );
    const claimedMs = performance.now() - killedAtMs;
    await until('it has published', () => statusOf(second)?.publish.generation !== undefined);
    const publishedMs = performance.now() - killedAtMs;
    await untilStored(READINGS);
    expect(claimedMs).toBeLessThan(TAKEN_MS_MAX);
    expect(publishedMs).toBeLessThan(TAKEN_MS_MAX + RESTORE_MS_MAX);
    const expected = await dailyEnergy(plain);
    expect(Object.values(expected as object)).toHaveLength(3);
    expect(JSON.stringify(expected)).toContain('"energyWh":958');
    const got = async () => JSON.stringify(await dailyEnergy(second));
    await until('the report has all', async () => (await got()) === JSON.stringify(expected), 20_000).catch(
      () => undefined,
    );
    expect(await dailyEnergy(second)).toEqual(expected);
    await until('the status has all', () => statusOf(second)?.storedMessages === READINGS);
    expect(statusOf(second)).toMatchObject({
      gaps: 0,
      bucket: { isLakeComplete: true },
    });
    expect(await second.stop()).toBe(0);
  },
);
