import { expect, onTestFinished, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { createFakeTime, fakeTimeLibrary } from '../support/fake-time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess } from '../support/up-process.ts';

const device = '00000000-0000-4000-8000-00000000000a';
const HOUR_SECONDS = 3_600;

test.skipIf(fakeTimeLibrary === undefined)(
  'a clock that is set forward and back loses no message, and publications continue',
  async () => {
    const cwd = tempDir();
    const time = createFakeTime(cwd);
    const service = await createUpProcess(
      cwd,
      {
        pipeline: { pollEvery: '200ms', rollupEvery: '200ms', publishEvery: '200ms' },
        workgroups: [
          {
            id: 'home',
            energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
          },
        ],
      },
      'up',
      time.environment,
    );
    onTestFinished(service.kill);
    await service.start();
    const headers = { authorization: `Bearer ${service.token}` };
    const sentAtMs = Date.now() - 5 * 60_000;
    let sent = 0;
    const send = async () => {
      sent += 1;
      const item = {
        device,
        source: 'roof',
        event_time: sentAtMs + sent * 10_000,
        data: { total_wh: sent * 100 },
      };
      const answer = await fetch(`${service.url}/api/v1/tables/home/solar/messages`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify([item]),
      });
      expect(answer.status).toBe(200);
      const { lastOffset } = decodeCbor(Buffer.from(await answer.arrayBuffer())) as {
        lastOffset: bigint | number;
      };
      return BigInt(lastOffset);
    };
    const stored = async () => {
      const answer = await fetch(`${service.url}/api/v1/tables/home/solar/latest`, {
        headers: { ...headers, prefer: 'wait=0' },
      });
      const body = decodeCbor(Buffer.from(await answer.arrayBuffer())) as { count: number; error?: string };
      return body.error ?? body.count;
    };
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const energyWh = async () => {
      const query = `startDate=${day(sentAtMs)}&endDate=${day(sentAtMs + 20 * 60_000)}`;
      const answer = await fetch(`${service.url}/api/v1/orgs/home/daily-energy?${query}`, { headers });
      const days = (await answer.json()) as Record<string, Record<string, number>>;
      return Object.values(days).reduce((sum, one) => sum + (one[device] ?? 0), 0);
    };
    const published = (name: string) =>
      until(`the energy ${name} is published`, async () => (await energyWh()) === (sent - 1) * 100);

    await send();
    const before = await send();
    await published('before');

    time.set(HOUR_SECONDS + 120);
    const ahead = await send();
    expect(ahead).toBeGreaterThan(before);
    expect(await stored()).toBe(3);
    await published('after the jump forward');

    time.set(0);
    const back = await send();
    expect(back).toBeGreaterThan(ahead);
    time.set(-HOUR_SECONDS);
    expect(await send()).toBeGreaterThan(back);
    expect(await stored()).toBe(5);
    await published('after the jumps back');
    expect(await service.stop()).toBe(0);
  },
  240_000,
);
