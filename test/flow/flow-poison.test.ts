import { expect, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { jsonText } from '../../src/lib/json-text.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { poisonValues } from '../rollup/poison-streams.ts';
import { rounds } from '../support/rounds.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const deviceOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
/** True for an integer of more than 64 bits, which our encoder writes as JSON only. */
const isLarge = (value: unknown) => typeof value === 'bigint' && BigInt.asIntN(64, value) !== value;
const WELL = [1, 2, 3, 4];
const ILL = [11, 12, 13, 14, 15];
/** The readings are of one day that ended an hour ago, every 10 minutes. They come in this many posts. */
const POSTS = rounds(1, 12);
const READINGS = 144;

test('a day of poison through HTTP leaves every other device exact and fresh after each post, also when the process is killed', {
  timeout: 300_000,
}, async () => {
  const service = await createServiceProcess({
    logLevel: 'warn',
    pipeline: { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms', maintainEvery: '1s' },
    workgroups: [
      {
        id: 'home',
        timezone: 'Etc/UTC',
        energyStreams: [
          { table: 'solar', field: 'total', method: 'total_energy' },
          { table: 'solar', field: 'power', method: 'power_curve' },
          { table: 'grid', field: 'total', method: 'total_energy', register: 'net' },
          { table: 'grid', field: 'power', method: 'interval_energy', interval: '10m' },
          { table: 'daily', field: 'total', method: 'daily_energy', unit: 'kWh', unitField: 'unit' },
        ],
      },
    ],
  });
  const startMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - (READINGS + 6) * 10 * MINUTE_MS;
  const post = async (
    table: string,
    items: readonly unknown[],
    type: 'cbor' | 'json' = 'cbor',
  ): Promise<number> => {
    const answer = await fetch(`${service.url}/api/v1/tables/home/${table}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': `application/${type}` },
      body: type === 'cbor' ? Buffer.from(encodeCbor(items)) : jsonText(items),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const freshWh = async () => {
    const rows = await queryLake(
      service.config,
      'home',
      `SELECT device::VARCHAR AS device, sum(energy_wh)::DOUBLE AS wh FROM daily_energy
       WHERE device IN (${WELL.map((number) => `'${deviceOf(number)}'`).join()}) GROUP BY device ORDER BY device`,
    );
    return (rows ?? []).map(({ wh }) => wh);
  };
  await service.start();
  let refused = 0;
  for (let turn = 0; turn < POSTS; turn += 1) {
    const places = Array.from({ length: READINGS / POSTS }, (_, index) => turn * (READINGS / POSTS) + index);
    const healthy = WELL.flatMap((number) =>
      places.map((place) => ({
        device: deviceOf(number),
        source: null,
        event_time: startMs + place * 10 * MINUTE_MS,
        data: { total: 1_000_000 * number + place * number },
      })),
    );
    // One item in each request, so that a refused item does not refuse others. Each kind of poison comes in
    // each table once.
    const poison = poisonValues.map((value, index) => ({
      device: deviceOf(ILL[(index + turn) % ILL.length]!),
      source: index % 3 === 0 ? `"'\u0000\u{1f50c}` : null,
      event_time: startMs + (turn * 12 + (index % 12)) * 10 * MINUTE_MS,
      data: { total: value, power: value, unit: index % 4 === 0 ? value : 'TWh' },
    }));
    for (const table of ['solar', 'grid', 'daily']) {
      const statuses = await Promise.all(
        poison.map((item) =>
          post(table, [item], isLarge(item.data.total) || turn % 3 === 0 ? 'json' : 'cbor'),
        ),
      );
      // Refused, or taken: never an error of the server.
      expect(statuses.filter((status) => status !== 200 && (status < 400 || status > 499))).toEqual([]);
      refused += statuses.filter((status) => status !== 200).length;
    }
    expect(await post('solar', healthy)).toBe(200);
    if (turn === Math.floor(POSTS / 2)) {
      await service.kill();
      await service.start();
    }
    const lastPlace = places.at(-1)!;
    await until(
      `the lake is exact after post ${turn + 1}`,
      async () =>
        JSON.stringify(await freshWh()) === JSON.stringify(WELL.map((number) => number * lastPlace)),
    );
  }
  // JSON and the contract refuse some values. Most values were stored.
  expect(refused).toBeLessThan(POSTS * 3 * poisonValues.length * 0.5);
  const rejected = await queryLake(
    service.config,
    'home',
    "SELECT string_agg(DISTINCT reason, ', ' ORDER BY reason) AS reasons, sum(readings) > 100 AS many FROM rejected_reading",
  );
  expect(rejected).toEqual([
    {
      reasons: 'negative, not_a_number, not_finite, null, out_of_range, sentinel, unknown_unit',
      many: true,
    },
  ]);
  const report = await fetch(
    `${service.url}/api/v1/orgs/home/daily-energy/details?startDate=2026-01-01&groupBy=source`,
    { headers: { authorization: `Bearer ${service.token}` } },
  );
  expect(report.status).toBe(200);
  expect(await service.stop()).toBe(0);
  expect(service.errorText()).not.toContain('rollup.set-aside');
  expect(service.errorText()).not.toContain('stage.failed');
});
