import { join } from 'node:path';
import { expect, test } from 'vitest';
import { alertStore, openAlertBook } from '../../src/alerts/alert-book.ts';
import type { AlertList } from '../../src/alerts/list-alerts.ts';
import { addDays, dayStart, HOUR_MS, localDateOf } from '../../src/lib/time.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess } from '../support/up-process.ts';
import { startReceiver } from './watch-fixture.ts';

const [GARAGE, ROOF, BARN] = ['1', '2', '3'].map((end) => `7c9e6679-7425-40de-944b-e07fc1f90ae${end}`) as [
  string,
  string,
  string,
];

/** A zone in which it is about noon, so that no day changes while the test runs. */
function noonZone(): string {
  const aheadHours = 12 - new Date().getUTCHours();
  return aheadHours === 0 ? 'Etc/UTC' : `Etc/GMT${aheadHours > 0 ? '-' : '+'}${Math.abs(aheadHours)}`;
}

test('an alert of a service goes out once, also over a kill and a restart, and its recovery once', async () => {
  const receiver = await startReceiver();
  const cwd = tempDir();
  const timezone = noonZone();
  const up = await createUpProcess(cwd, {
    dataDir: join(cwd, 'data'),
    workgroups: [
      {
        id: 'home',
        timezone,
        devices: [{ id: GARAGE, name: 'garage' }],
        energyStreams: [{ table: 'grid', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
      },
    ],
    alerts: {
      checkEvery: '1s',
      channels: [{ id: 'ops', webhook: { url: receiver.url } }],
      conditions: { deviceSilent: 'off', disk: 'off', stageLate: 'off' },
    },
  });
  const yesterdayMs = dayStart(addDays(localDateOf(Date.now(), timezone), -1), timezone);
  const authorization = { Authorization: `Bearer ${up.token}` };
  const root = `${up.url}/api/v1/orgs/home`;
  const send = (readings: ReadonlyArray<readonly [device: string, hour: number, totalWh: number]>) =>
    fetch(`${up.url}/api/v1/tables/home/grid/messages`, {
      method: 'POST',
      headers: { ...authorization, 'Content-Type': 'application/json' },
      body: JSON.stringify(
        readings.map(([device, hour, total_wh]) => ({
          device,
          event_time: yesterdayMs + hour * HOUR_MS,
          data: { total_wh },
        })),
      ),
    });
  const list = async () =>
    (await (await fetch(`${root}/alerts`, { headers: authorization })).json()) as AlertList;
  await up.start();
  try {
    const hours = Array.from({ length: 25 }, (_, hour) => hour);
    const flat = hours.map((hour) => [GARAGE, hour, 1_000] as const);
    const growing = [ROOF, BARN].flatMap((device) =>
      hours.map((hour) => [device, hour, 1_000 + 100 * hour] as const),
    );
    expect((await send([...flat, ...growing])).status).toBeLessThan(300);
    await until('the alert has come', () => receiver.received.length > 0, 180_000);
    const [{ json }] = receiver.received as [(typeof receiver.received)[number]];
    expect(json).toMatchObject({ kind: 'raised', condition: 'deviceIdle', workgroup: 'home', count: 1 });
    expect(json.body).toContain('garage, default, reports and has 0 Wh');
    const book = openAlertBook(alertStore(up.config, 'home'));
    await until('it is noted', async () =>
      (await book.read()).alarms.some(({ channels }) => channels.ops === 'told'),
    );
    expect(await list()).toMatchObject({
      total: 1,
      unseen: 1,
      alerts: [{ subject: `${GARAGE} default`, told: ['ops'] }],
    });

    await up.kill();
    const stored = await runCommand(['alerts', 'list', '--json'], { cwd });
    expect(JSON.parse(stored.stdout)).toMatchObject({ total: 1 });
    await up.start();
    await until('the worker answers again', async () => (await list()).total === 1, 120_000);
    const seen = await fetch(`${root}/alerts/seen`, {
      method: 'POST',
      headers: { ...authorization, 'Content-Type': 'application/json' },
      body: JSON.stringify({ condition: 'deviceIdle' }),
    });
    expect(await seen.json()).toMatchObject({
      unseen: 0,
      alerts: [{ seenBy: expect.stringContaining('token:') }],
    });
    const snoozed = await runCommand(['alerts', 'snooze', 'all', '--for', '1h', '--json'], { cwd });
    expect(JSON.parse(snoozed.stdout)).toMatchObject({ snoozes: [{ condition: 'all' }] });
    expect(
      (
        await send([
          [GARAGE, 23.5, 2_000],
          [GARAGE, 24.5, 2_000],
        ])
      ).status,
    ).toBeLessThan(300);
    await until('the recovery has come', () => receiver.received.length > 1, 120_000);
    expect(receiver.received.map(({ json: { kind } }) => kind)).toEqual(['raised', 'recovered']);
    await until('it is over', async () => (await list()).total === 0);
    const metrics = await (await fetch(`${up.url}/metrics`, { headers: authorization })).text();
    expect(metrics).toContain('wattline_alerts_sent_total{channel="ops",outcome="told"} 1');
  } finally {
    await up.kill();
  }
});

test('a test message goes to the channels, and the command fails if one refuses it', async () => {
  const receiver = await startReceiver();
  receiver.answers.push(204, 404);
  const cwd = tempDir();
  await createUpProcess(cwd, {
    workgroups: [{ id: 'home' }],
    alerts: { channels: [{ id: 'ops', webhook: { url: receiver.url } }] },
  });
  const done = await runCommand(['alerts', 'test'], { cwd });
  expect(done).toMatchObject({ code: 0, stdout: 'ops: sent\n' });
  expect(receiver.received[0]!.json).toMatchObject({ kind: 'test', title: 'Wattline: test' });
  const refused = await runCommand(['alerts', 'test', 'ops'], { cwd });
  expect(refused.stdout).toContain('ops: refused: 127.0.0.1');
  expect(refused.code).not.toBe(0);
});
