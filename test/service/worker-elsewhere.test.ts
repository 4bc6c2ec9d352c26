import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setUpMachines } from '../support/machines.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';
import { DAY, DEVICE, hasCommitted, machineConfig, readings, sendDay } from './machine-config.ts';

const timeout = 240_000;

test('a machine without the data reaches the worker over HTTP and by commands', { timeout }, async () => {
  const machines = await setUpMachines(machineConfig);
  const one = await machines.add('one', 'up');
  const other = await machines.add('other', 'report');
  await one.start();
  await other.start();
  const headers = { Authorization: `Bearer ${one.token}`, 'Content-Type': 'application/json' };
  const sent = await fetch(`${one.url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers,
    body: JSON.stringify(readings),
  });
  expect(sent.status).toBe(200);
  const url = `${other.url}/api/v1/orgs/home`;
  const explain = async () => {
    const answer = await fetch(`${url}/daily-energy/explain?device=${DEVICE}&day=${DAY}`, { headers });
    return (await answer.json()) as { outcome?: string; sum?: unknown; sources?: unknown[] };
  };
  await until('the day is explained', async () => JSON.stringify(await explain()).includes('2400'));

  const correct = await fetch(`${url}/corrections`, {
    method: 'POST',
    headers: { ...headers, Authorization: `Bearer ${other.token}` },
    body: JSON.stringify({
      kind: 'set_day',
      device: DEVICE,
      source: 'default',
      day: DAY,
      energyWh: 2_300,
      reason: 'read by hand',
    }),
  });
  expect([correct.status, await correct.text()]).toEqual([200, expect.stringContaining('2300')]);
  const listed = await other.run('correct', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([{ kind: 'set_day', device: DEVICE }]);

  const file = join(other.config.dataDir, '..', 'pv.csv');
  writeFileSync(file, 'meter,start,end,energy_kwh\nPV,2026-05-01,2026-06-01,120\n');
  const uploaded = await other.run('meter-data', 'put', file, '--timezone', 'Etc/UTC', '--json');
  expect(uploaded).toMatchObject({ code: 0, stderr: '' });
  const uploads = await one.run('meter-data', 'list', '--json');
  expect(JSON.parse(uploads.stdout)).toMatchObject([{ meter: 'PV', energyWh: 120_000 }]);

  for (const command of [['explain', 'garage', DAY], ['retry'], ['backfill', 'gaps'], ['budget', 'list']])
    expect({ command, ...(await other.run(...command)) }).toMatchObject({ command, code: 0, stderr: '' });
  const status = await other.run('status', '--json');
  expect({ ...status, stdout: JSON.parse(status.stdout) }).toMatchObject({
    code: 0,
    stdout: [
      {
        workgroupId: 'home',
        state: 'running',
        machine: hostname(),
        poll: { nextOffset: expect.any(String) },
      },
    ],
  });
  const served = await fetch(`${other.url}/api/v1/orgs/home/status`, { headers });
  expect(await served.json()).toMatchObject({ state: 'running', health: 'good' });

  const filled = await other.run('backfill', '--from', String(Date.now() - 600_000), '--json');
  expect(filled).toMatchObject({ code: 0 });

  const ready = async () => {
    const answer = await fetch(`${other.url}/ready`);
    return ((await answer.json()) as { checks: { worker: { ok: boolean } } }).checks.worker;
  };
  expect(await ready()).toMatchObject({ ok: true });
  await one.kill();
  // The lease and the address of a killed worker expire.
  await until('the workgroup is not served', async () => !(await ready()).ok);
  expect(JSON.stringify(await ready())).toContain('workgroup home: no worker has opened its data');
  expect((await other.run('status')).stderr).toContain('no worker has run on');
});

test.skipIf(s3Missing)(
  'with a bucket and the embedded queue a command does not take the workgroup from another machine',
  { timeout },
  async () => {
    const machines = await setUpMachines(machineConfig, { hasBucket: true });
    const queue = { backend: 'pglite' as const };
    const one = await machines.add('one', 'up', { queue, stream: { log: 'memory' } });
    const other = await machines.add('other', 'up', { queue, stream: { log: 'memory' } });
    await one.start();
    expect((await sendDay(one)).status).toBe(200);
    await until('the machine has committed', () => hasCommitted(one));
    for (const command of [['retry'], ['explain', 'garage', DAY]]) {
      const refused = await other.run(...command);
      expect(refused).toMatchObject({ code: 3, stdout: '' });
      expect(refused.stderr).toContain('start a worker on any machine');
    }
    expect(await one.run('retry')).toMatchObject({ code: 0, stderr: '' });
  },
);
