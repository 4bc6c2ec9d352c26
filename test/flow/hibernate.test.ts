import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ConfigInput } from '../../src/config/config.ts';
import { parseScrape } from '../support/parse-scrape.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess, queryLake, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const DEVICE = '00000000-0000-4000-8000-000000000001';

const config: ConfigInput = {
  pipeline: { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms', hibernateAfter: '1s' },
  workgroups: [
    {
      id: 'home',
      energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
    },
  ],
};

let sent = 0;
async function post({ url, token }: ServiceProcess): Promise<void> {
  sent += 1;
  const message = {
    device: DEVICE,
    source: 'pv',
    msg_id: sent,
    event_time: Date.now(),
    data: { total_wh: sent },
  };
  const answer = await fetch(`${url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify([message]),
  });
  expect(answer.status).toBe(200);
}

async function isPublished({ config: { dataDir } }: ServiceProcess, id: number): Promise<boolean> {
  const rows = await queryLake(
    { dataDir } as never,
    'home',
    'SELECT message_id::INTEGER AS id FROM messages',
  );
  return rows?.some((row) => row.id === id) ?? false;
}

const published = (service: ServiceProcess) => {
  const id = sent;
  return until(`message ${id} is published`, () => isPublished(service, id));
};

const isIdleMarked = ({ config: { dataDir } }: ServiceProcess) =>
  existsSync(join(dataDir, 'warehouse', 'home.duckdb.idle.json'));

async function readiness({ url }: ServiceProcess) {
  const answer = await fetch(`${url}/ready`);
  const { checks } = (await answer.json()) as {
    checks: { worker: { detail: { open: number; hibernated: number } } };
  };
  return { status: answer.status, ...checks.worker.detail };
}

const hibernates = (service: ServiceProcess) =>
  until('it hibernates', async () => (await readiness(service)).hibernated === 1);

test('a workgroup is closed until its first message and while it is idle; a message, a request or a silent device opens it, also after a kill', {
  timeout: 240_000,
}, async () => {
  const service = await createServiceProcess(config);
  const cwd = join(service.config.dataDir, '..');
  const status = async () => JSON.parse((await runCommand(['status', '--json'], { cwd })).stdout)[0];
  const day = new Date().toISOString().slice(0, 10);
  await service.start();
  await hibernates(service);
  expect(await readiness(service)).toMatchObject({ status: 200, open: 0 });
  const warehouse = join(service.config.dataDir, 'warehouse', 'home.duckdb');
  expect(existsSync(warehouse)).toBe(false);
  await until('the status says it', async () => (await status()).state === 'hibernated');
  const report = await fetch(`${service.url}/api/v1/orgs/home/daily-energy?startDate=${day}&endDate=${day}`, {
    headers: { authorization: `Bearer ${service.token}` },
  });
  expect([report.status, await report.json()]).toEqual([200, { [day]: {} }]);

  await post(service);
  await published(service);
  expect(existsSync(warehouse)).toBe(true);
  await hibernates(service);
  expect(isIdleMarked(service)).toBe(true);
  expect(await readiness(service)).toMatchObject({ status: 200, open: 0, hibernated: 1 });
  expect(await status()).toMatchObject({ state: 'hibernated', storedMessages: 1 });
  // To look at it does not wake it.
  expect(isIdleMarked(service)).toBe(true);

  const explained = await fetch(
    `${service.url}/api/v1/orgs/home/daily-energy/explain?device=${DEVICE}&day=${day}`,
    { headers: { authorization: `Bearer ${service.token}` } },
  );
  expect(explained.status).toBe(200);
  await hibernates(service);

  // Nothing is opened at a start with nothing to do.
  await service.kill();
  await service.start();
  await until('it is ready', async () => (await readiness(service)).status === 200);
  expect(await readiness(service)).toMatchObject({ open: 0, hibernated: 1 });
  // Metrics know it from its status, and open nothing.
  const headers = { authorization: `Bearer ${service.token}` };
  const metrics = parseScrape(await (await fetch(`${service.url}/metrics`, { headers })).text());
  expect(metrics.value('wattline_up_to_date')).toBe(1);
  expect(metrics.value('wattline_gaps_open')).toBe(0);
  expect(metrics.value('wattline_lake_bytes')).toBeGreaterThan(0);
  expect(metrics.value('wattline_stage_last_success_timestamp_seconds')).toBeUndefined();
  expect(isIdleMarked(service)).toBe(true);
  await post(service);
  await published(service);

  // From now on a device is offline after some seconds.
  await post(service);
  expect(isIdleMarked(service)).toBe(false);
  await service.kill();
  const settings = join(cwd, 'wattline.yaml');
  writeFileSync(settings, `${readFileSync(settings, 'utf8')}stream: { deviceTimeout: 5s }\n`);
  await service.start();
  await published(service);

  // It hibernates before the device is due, and the announcement opens it.
  await post(service);
  await published(service);
  await hibernates(service);
  const device = async () => {
    const answer = await fetch(`${service.url}/api/v1/orgs/home/device-status`, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    return ((await answer.json()) as Record<string, { state: string; reason: string }>)[DEVICE];
  };
  await until('the device is offline', async () => (await device())?.state === 'offline');
  expect(await device()).toMatchObject({ reason: 'timeout' });
  await hibernates(service);

  // A message that arrived just before a kill is read at the next start.
  await post(service);
  await service.kill();
  await service.start();
  await published(service);
  expect(await service.stop()).toBe(0);
});
