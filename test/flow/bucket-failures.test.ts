import { expect, test } from 'vitest';
import {
  READINGS,
  readings,
  sendReadings,
  startBucketServices,
  statusOf,
} from '../support/bucket-services.ts';
import { checkCommits } from '../support/check-commits.ts';
import { startFaultyService } from '../support/faulty-service.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';

const timeout = 240_000;

test.skipIf(s3Missing).each<Fate>(['lose', 'hang'])(
  'while the bucket does not answer (%s), messages land, /ready names the bucket, and no commit appears',
  { timeout },
  async (failure) => {
    let fate: Fate = 'pass';
    const { create, head, untilStored, store } = await startBucketServices(({ endpoint }) =>
      startLossyProxy(endpoint, () => fate),
    );
    const service = await create();
    await service.start();
    await sendReadings(service, readings(0, 10));
    await untilStored(10);
    fate = failure;
    await sendReadings(service, readings(10, READINGS));
    await until('the messages have landed', () => statusOf(service)?.storedMessages === READINGS);
    let text = '';
    await until('the service is not ready', async () => {
      const answer = await fetch(`${service.url}/ready`, {
        headers: { authorization: `Bearer ${service.token}` },
      });
      text = await answer.text();
      return answer.status === 503;
    });
    expect(text).toMatch(/bucket/);
    await until('the status says so', () => statusOf(service)?.bucket?.lastError !== undefined);
    expect((await head())!.totals.messages).toBe(10);
    fate = 'pass';
    await untilStored(READINGS);
    await until('the service is ready', async () => (await fetch(`${service.url}/ready`)).ok);
    expect(await checkCommits(store)).toMatchObject({ claims: 1 });
    expect(statusOf(service)).toMatchObject({ gaps: 0, storedMessages: READINGS });
  },
);

test.skipIf(s3Missing)(
  'a worker that was stopped longer than its lease does nothing more when it continues',
  { timeout },
  async () => {
    const service = await startFaultyService(1);
    const { stream, head, untilStored, store } = service;
    await sendReadings(stream, readings(0, 100));
    await untilStored(100);
    const stopped = await service.owner();
    await service.make('stopped');
    const claimed = (await head())!;
    await sendReadings(stream, readings(100, READINGS));
    await untilStored(READINGS);
    // It would commit here what it has not committed yet.
    expect(await stopped.stop()).toBe(0);
    const newest = (await head())!;
    expect(newest.ownerEpoch).toBe(claimed.ownerEpoch);
    expect(await service.owner()).not.toBe(stopped);
    expect(await checkCommits(store)).toMatchObject({ claims: 2 });
    expect(statusOf(await service.owner())).toMatchObject({ gaps: 0, storedMessages: READINGS });
  },
);

test.skipIf(s3Missing)(
  'without Redis nobody takes a workgroup over, and nothing is lost when it is back',
  { timeout },
  async () => {
    const service = await startFaultyService(2);
    const { stream, head, untilStored, redis, store } = service;
    await sendReadings(stream, readings(0, 100));
    await untilStored(100);
    const owner = await service.owner();
    const before = (await head())!.ownerEpoch;
    await redis.restart({
      whileDown: async () => {
        await owner.kill();
        // Longer than the lease of the killed owner.
        await until('the lease is over', () => Date.now() > (statusOf(owner)?.updatedAtMs ?? 0) + 15_000);
        expect((await head())!.ownerEpoch).toBe(before);
      },
    });
    await until('the stream answers again', async () =>
      sendReadings(stream, readings(100, READINGS)).then(
        () => true,
        () => false,
      ),
    );
    await until(
      'another worker has all',
      async () => ((await head())?.totals.messages ?? 0) >= READINGS,
      120_000,
    );
    expect(await checkCommits(store)).toMatchObject({ claims: 2 });
    expect(statusOf(await service.owner())?.gaps).toBe(0);
  },
);
