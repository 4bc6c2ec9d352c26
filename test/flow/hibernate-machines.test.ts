import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { warehouseFile } from '../../src/pipeline/assignment.ts';
import {
  type BucketServices,
  HOME,
  readings,
  sendReadings,
  startBucketServices,
  statusOf,
} from '../support/bucket-services.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const quick = { pipeline: { hibernateAfter: '1s' } };

/** Waits until the workgroup rests and no machine has it any more. @returns how often it was opened so far */
async function opensOf({ head }: BucketServices, redis: Redis, sent: number): Promise<number> {
  let opens = 0;
  await until(`it rests with ${sent} messages`, async () => {
    const newest = await head();
    opens = Number(newest?.ownerEpoch);
    const isOpen = (await redis.exists('wattline:lease:home')) === 1;
    return !isOpen && newest?.idle !== undefined && newest.totals.messages === sent;
  });
  return opens;
}

async function isReady({ url }: ServiceProcess): Promise<boolean> {
  return (await fetch(`${url}/ready`)).ok;
}

test.skipIf(s3Missing)(
  'of several machines one opens a workgroup for a message, and no other one afterwards',
  {
    timeout: 300_000,
  },
  async () => {
    const services = await startBucketServices();
    const redis = new Redis(services.redis.url);
    onTestFinished(() => redis.disconnect());
    const one = await services.create(quick);
    await one.start();
    await sendReadings(one, readings(0, 10));
    expect(await opensOf(services, redis, 10)).toBe(1);

    // Only the bucket and Redis have it for the second machine.
    const two = await services.create(quick);
    await two.start();
    await until('the second machine knows that it rests', async () => statusOf(two)?.isHibernated === true);
    expect(existsSync(warehouseFile(two.config.dataDir, HOME))).toBe(false);

    await sendReadings(two, readings(10, 20));
    expect(await opensOf(services, redis, 20)).toBe(2);
    let sent = 20;
    // A start looks at all workgroups at once. Otherwise this is done every minute.
    for (const machine of [one, two]) {
      expect(await machine.stop()).toBe(0);
      await machine.start();
      await until('it is ready', () => isReady(machine));
      await sendReadings(machine, readings(sent, sent + 10));
      sent += 10;
      expect(await opensOf(services, redis, sent)).toBe(sent / 10);
    }
  },
);
