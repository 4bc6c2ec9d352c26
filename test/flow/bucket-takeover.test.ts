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
    rmSync(first.config.dataDir, { recursive: true });
    await sendReadings(second, readings(250, READINGS));
    await until(
      'another machine has claimed the workgroup',
      async () => BigInt((await head())!.ownerEpoch) > BigInt(before.ownerEpoch),
    );
    await until('it has published', () => statusOf(second)?.publish.generation !== undefined);
    await untilStored(READINGS);
    const expected = await dailyEnergy(plain);
    expect(Object.values(expected as object)).toHaveLength(3);
    expect(JSON.stringify(expected)).toContain('"energyWh":958');
    const got = async () => JSON.stringify(await dailyEnergy(second));
    await until('the report has all', async () => (await got()) === JSON.stringify(expected)).catch(
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
