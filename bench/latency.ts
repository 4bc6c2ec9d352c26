import { setTimeout as sleep } from 'node:timers/promises';
import type { ConfigInput } from '../src/config/config.ts';
import type { ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { withService } from './with-service.ts';

const ROUNDS = 8;
const SECONDS_MAX = 10;
const DEVICE = '5f1d0001-9c3e-4b1a-8f6d-000000000001';

/**
 * The time from the sending of a reading until the report of `wattline up` has its energy. The settings are
 * the defaults, and the client asks every 50 ms.
 */
export async function benchLatency(print: (line: string) => void): Promise<Ratio[]> {
  const config: ConfigInput = {
    workgroups: [
      {
        id: 'bench',
        energyStreams: [
          { table: 'solar', field: 'wh', method: 'total_energy', unit: 'Wh', maxPower: '1 GW' },
        ],
      },
    ],
  };
  const seconds = await withService(config, measure);
  seconds.sort((a, b) => a - b);
  const [least, median, most] = [seconds[0]!, seconds[ROUNDS >> 1]!, seconds.at(-1)!];
  print(
    `from ingest to the report: ${least.toFixed(1)} s at least, ${median.toFixed(1)} s median, ${most.toFixed(1)} s at most, of ${ROUNDS}`,
  );
  return [
    {
      name: `from ingest to the report, ${SECONDS_MAX} s against the longest`,
      ratio: SECONDS_MAX / most,
      ratioMin: 1,
    },
  ];
}

/** How long each reading took, s. */
async function measure({ url, token }: ServiceProcess): Promise<number[]> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const startMs = Date.now() - 3_600_000;
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const post = async (number: number) => {
    const items = [
      { device: DEVICE, source: 'pv', event_time: startMs + number * 60_000, data: { wh: number * 1_000 } },
    ];
    const answer = await fetch(`${url}/api/v1/tables/bench/solar/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(items),
    });
    if (answer.status !== 200) throw new Error(`ingest answered with ${answer.status}`);
  };
  const total = async () => {
    const range = `startDate=${day(startMs)}&endDate=${day(Date.now())}`;
    const answer = await fetch(`${url}/api/v1/orgs/bench/daily-energy?${range}`, { headers });
    const body = (await answer.json()) as Record<string, Record<string, number>>;
    return Object.values(body).reduce((sum, devices) => sum + (devices[DEVICE] ?? 0), 0);
  };
  const seconds: number[] = [];
  await post(0);
  for (let round = 1; round <= ROUNDS; round++) {
    // Each reading is sent at another phase of the schedules.
    await sleep(700 * round);
    const postedMs = performance.now();
    await post(round);
    while ((await total()) < round * 1_000) await sleep(50);
    seconds.push((performance.now() - postedMs) / 1_000);
  }
  return seconds;
}
