import { join } from 'node:path';
import { expect, test } from 'vitest';
import { alertStore, openAlertBook } from '../../src/alerts/alert-book.ts';
import type { AlertList } from '../../src/alerts/list-alerts.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess } from '../support/up-process.ts';
import { alertingInput, GARAGE, idleReadings, sendIdle } from './idle-plant.ts';
import { startReceiver } from './watch-fixture.ts';

// conduct.test.ts has a restart.
test('an alert of a service goes out once, in a soak also over a kill and a restart, and its recovery once', async () => {
  const receiver = await startReceiver();
  const cwd = tempDir();
  const up = await createUpProcess(cwd, alertingInput(join(cwd, 'data'), receiver.url));
  const authorization = { Authorization: `Bearer ${up.token}` };
  const root = `${up.url}/api/v1/orgs/home`;
  const list = async () =>
    (await (await fetch(`${root}/alerts`, { headers: authorization })).json()) as AlertList;
  await up.start();
  try {
    expect((await sendIdle(up, idleReadings)).status).toBeLessThan(300);
    await until('the alert has come', () => receiver.received.length > 0, 180_000);
    const [{ json }] = receiver.received as [(typeof receiver.received)[number]];
    expect(json).toMatchObject({ kind: 'raised', condition: 'deviceIdle', workgroup: 'home', count: 1 });
    expect(json.body).toContain('garage, default, reports and has 0 Wh');
    const book = openAlertBook(alertStore(up.config, 'home'), silentLogger);
    await until('it is noted', async () =>
      (await book.read()).alarms.some(({ channels }) => channels.ops === 'told'),
    );
    expect(await list()).toMatchObject({
      total: 1,
      unseen: 1,
      alerts: [{ subject: `${GARAGE} default`, sentTo: ['ops'] }],
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
    const late = [
      [0, 23.5, 2_000],
      [0, 24.5, 2_000],
    ] as const;
    expect((await sendIdle(up, late)).status).toBeLessThan(300);
    await until('the recovery has come', () => receiver.received.length > 1, 120_000);
    expect(receiver.received.map(({ json: { kind } }) => kind)).toEqual(['raised', 'recovered']);
    await until('it is over', async () => (await list()).total === 0);
    const metrics = await (await fetch(`${up.url}/metrics`, { headers: authorization })).text();
    // Since the last start.
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
