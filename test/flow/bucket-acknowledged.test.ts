// @module-tag slow
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  DEVICE,
  dailyEnergy,
  HOME,
  KNOWN_WH,
  READINGS,
  readings,
  reportedWh,
  sendReadings,
  startBucketServices,
} from '../support/bucket-services.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { queryLake, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const workgroups = [
  {
    id: HOME,
    meters: [{ code: 'PV' }],
    energyStreams: [
      { table: 'solar', field: 'total_wh', method: 'total_energy' as const, unit: 'Wh' as const },
    ],
  },
];
/** A day of the readings. */
const DAY = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);
const DAY_BEFORE = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
const COUNT_READINGS = `SELECT count(*)::INTEGER AS readings, count(DISTINCT stream_offset)::INTEGER AS offsets,
  (SELECT count(*) FROM gap)::INTEGER AS gaps FROM messages WHERE "table" = 'solar'`;
/** No commit comes in time by itself. */
const storage = { commitEvery: '15m' };

test.skipIf(s3Missing)(
  'what was acknowledged survives the loss of the machine, and nothing is acknowledged without the bucket',
  { timeout: 240_000 },
  async () => {
    let fate: Fate = 'pass';
    const services = await startBucketServices(({ endpoint }) => startLossyProxy(endpoint, () => fate));
    const first = await services.create({ storage, workgroups });
    await first.start();
    await sendReadings(first, readings(0, 200));
    await until('the days are reported', async () =>
      /energyWh/.test(JSON.stringify(await dailyEnergy(first))),
    );

    fate = 'lose';
    const refused = await upload(first, 'B', 1_250);
    expect(refused).toMatchObject({
      status: 503,
      body: {
        error: 'StorageUnavailable',
        message:
          'it is stored on the machine of the worker and not in the bucket yet, because the bucket cannot be reached; send the same request again, which is safe',
      },
    });
    const uncertain = await correct(first, { energyWh: 4_100, day: DAY_BEFORE });
    expect(uncertain.status).toBe(503);
    const [, key] = /send the same request again with the key "([^"]+)"/.exec(uncertain.body.message ?? '')!;
    fate = 'pass';
    expect(await correct(first, { energyWh: 4_100, day: DAY_BEFORE, key: key! })).toMatchObject({
      status: 200,
      body: { outcome: 'stored-before' },
    });
    expect(await upload(first, 'B', 1_250)).toMatchObject({
      status: 200,
      body: { outcome: 'stored-before' },
    });
    expect(await correct(first, { key: 'one' })).toMatchObject({ status: 200, body: { outcome: 'stored' } });
    // An answer of 503 asks for the same request again.
    await until('the upload is acknowledged', async () => (await upload(first, 'C', 1_300)).status === 200);
    await until('the bucket has views for analysts', async () => {
      const { done } = await services.store.list('analytics/').next();
      return !done;
    });
    // These are in the stream, and in no commit.
    await sendReadings(first, readings(200, 250));
    await first.kill();
    rmSync(first.config.dataDir, { recursive: true });
    // worker-redis.test.ts waits for the lease of a worker that was killed.
    await services.forgetLease();

    const second = await services.create({ storage, workgroups });
    await second.start();
    await until('the other machine has the first upload', async () => {
      const { status, body } = await upload(second, 'B', 1_250);
      if (status === 200) expect(body).toMatchObject({ outcome: 'stored-before' });
      return status === 200;
    });
    expect(await upload(second, 'C', 1_300)).toMatchObject({
      status: 200,
      body: { outcome: 'stored-before' },
    });
    expect(await correct(second, { key: 'one' })).toMatchObject({
      status: 200,
      body: { outcome: 'stored-before' },
    });
    // The measured energy is there once, too, with both corrections.
    await sendReadings(second, readings(250, READINGS));
    const expected = [4_100, 4_000, KNOWN_WH[2]];
    let reported: number[] = [];
    await until('the report has all', async () => {
      reported = await reportedWh(second);
      return JSON.stringify(reported) === JSON.stringify(expected);
    }).catch(() => undefined);
    expect(reported).toEqual(expected);
    expect(await queryLake(second.config, HOME, COUNT_READINGS)).toEqual([
      { readings: READINGS, offsets: READINGS, gaps: 0 },
    ]);
    expect(await second.stop()).toBe(0);
  },
);

async function upload({ url, token }: ServiceProcess, scenario: string, energyKwh: number) {
  const answer = await fetch(`${url}/api/v1/orgs/${HOME}/budget-data?scenario=${scenario}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
    body: `meter_code,period,energy_kwh\nPV,2026-05,${energyKwh}\n`,
  });
  return { status: answer.status, body: (await answer.json()) as { message?: string } };
}

async function correct(
  { url, token }: ServiceProcess,
  more: { energyWh?: number; day?: string; key?: string },
) {
  const answer = await fetch(`${url}/api/v1/orgs/${HOME}/corrections`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      kind: 'set_day',
      device: DEVICE,
      source: 'pv',
      day: DAY,
      energyWh: 4_000,
      reason: 'the display was read',
      ...more,
    }),
  });
  return { status: answer.status, body: (await answer.json()) as { message?: string } };
}
