// @module-tag slow
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rounds } from '../support/rounds.ts';
import { createServiceProcess, queryLake, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const KILLS = rounds(1, 30);
const BATCH = 200;
const DEVICE = '00000000-0000-4000-8000-000000000001';

test(`after ${KILLS} ${KILLS === 1 ? 'kill' : 'kills'} under load the lake holds every acknowledged message exactly once`, {
  timeout: 400_000,
}, async () => {
  const service = await createServiceProcess({
    logLevel: 'warn',
    pipeline: { pollEvery: '200ms', rollupEvery: '500ms', publishEvery: '500ms' },
    workgroups: [
      {
        id: 'home',
        energyStreams: [
          { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '100 kW' },
        ],
      },
    ],
  });
  const acknowledged = new Set<number>();
  let nextId = 0;
  for (let round = 0; round < KILLS; round += 1) {
    await service.start();
    const loading = new AbortController();
    const load = (async () => {
      while (!loading.signal.aborted) {
        const first = nextId;
        nextId += BATCH;
        if (await post(service, first))
          for (let id = first; id < first + BATCH; id += 1) acknowledged.add(id);
      }
    })();
    await sleep(200 + Math.random() * 2_300);
    await service.kill();
    loading.abort();
    await load;
  }
  expect(acknowledged.size).toBeGreaterThanOrEqual(KILLS * BATCH);

  await service.start();
  const held =
    'SELECT message_id::DOUBLE AS id, count(*)::DOUBLE AS copies FROM messages GROUP BY message_id ORDER BY id';
  let rows: Array<{ id: number; copies: number }> = [];
  let missing: number[] = [];
  await until('the lake holds every acknowledged message', async () => {
    rows = ((await queryLake(service.config, 'home', held)) ?? []) as typeof rows;
    const ids = new Set(rows.map(({ id }) => id));
    missing = [...acknowledged].filter((id) => !ids.has(id));
    return missing.length === 0;
  }).catch(() => undefined);
  expect(missing).toEqual([]);

  // The register grows by one Wh a message, whatever was killed in between.
  let [energyWh, growthWh] = [0, -1];
  await until('the energy is the energy of all messages', async () => {
    const energy = await queryLake(
      service.config,
      'home',
      'SELECT sum(energy_wh)::DOUBLE AS wh, (SELECT max(message_id) - min(message_id) FROM messages)::DOUBLE AS growth FROM daily_energy',
    );
    [energyWh, growthWh] = [energy?.[0]?.wh as number, energy?.[0]?.growth as number];
    return energyWh === growthWh;
  }).catch(() => undefined);
  expect(energyWh).toBe(growthWh);
  await service.stop();
  rows = (await queryLake(service.config, 'home', held)) as typeof rows;
  expect(rows.filter(({ copies }) => copies !== 1)).toEqual([]);
});

/**
 * Posts messages. The counter, the register and the time of each one all identify it.
 * @returns whether they were acknowledged
 */
async function post({ url, token }: ServiceProcess, first: number): Promise<boolean> {
  const startMs = Date.UTC(2026, 0, 1);
  const items = Array.from({ length: BATCH }, (_, index) => ({
    device: DEVICE,
    source: 'pv',
    event_time: startMs + (first + index) * 100,
    msg_id: first + index,
    data: { total_wh: 1_000_000 + first + index },
  }));
  try {
    const answer = await fetch(`${url}/api/v1/tables/home/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(items),
    });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}
