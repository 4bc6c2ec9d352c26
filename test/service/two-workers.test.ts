import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Machine, setUpMachines } from '../support/machines.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';
import { DAY, DEVICE, hasCommitted, machineConfig, sendDay, statusOn } from './machine-config.ts';

const timeout = 240_000;

test.skipIf(s3Missing)(
  'two workers with a bucket: what was asked on either machine outlives the first owner',
  {
    timeout,
  },
  async () => {
    const machines = await setUpMachines(machineConfig, { hasBucket: true });
    const one = await machines.add('one', 'up');
    const other = await machines.add('other', 'up');
    await one.start();
    expect((await sendDay(one)).status).toBe(200);
    await until('the first machine has committed', () => hasCommitted(one));
    await other.start();
    const explained = async (machine: Machine) => {
      const { stdout } = await machine.run('explain', 'garage', DAY, '--json');
      return /2[234]00/.test(stdout) ? stdout : undefined;
    };
    await until(
      'the other machine can explain',
      async () => (await explained(other))?.includes('2400') === true,
    );

    const setTo = (day: string, energy: string) => [
      'correct',
      'set',
      'garage',
      '--day',
      day,
      '--energy',
      energy,
      '--reason',
      'read',
    ];
    expect(await other.run(...setTo(DAY, '2300 Wh'))).toMatchObject({ code: 0 });
    const file = join(other.config.dataDir, '..', 'pv.csv');
    writeFileSync(file, 'meter,start,end,energy_kwh\nPV,2026-05-01,2026-06-01,120\n');
    const uploaded = await other.run('meter-data', 'put', file, '--timezone', 'Etc/UTC', '--json');
    expect(uploaded).toMatchObject({ code: 0, stderr: '' });
    expect(await other.run('retry')).toMatchObject({ code: 0, stderr: '' });
    expect(await other.run('backfill', '--from', String(Date.now() - 600_000), '--json')).toMatchObject({
      code: 0,
    });
    expect(statusOn(other)).toBeUndefined();

    expect(await one.stop()).toBe(0);
    await until('the other machine has it', () => hasCommitted(other));
    const listed = await other.run('correct', 'list', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject([{ kind: 'set_day', device: DEVICE }]);
    const uploads = await other.run('meter-data', 'list', '--json');
    expect(JSON.parse(uploads.stdout)).toMatchObject([{ meter: 'PV', energyWh: 120_000 }]);
    await until(
      'the day is explained with its correction',
      async () => (await explained(other))?.includes('2300') === true,
    );
    // A worker that takes the workgroup over in this moment does not have its lake yet.
    await until('the status of the owner is well', async () => {
      const [home] = JSON.parse((await other.run('status', '--json')).stdout);
      return home.state === 'running' && home.gaps === 0 && home.bucket.isLakeComplete === true;
    });

    // Without a worker, a command works on the bucket as a worker does.
    await other.stop();
    expect(await one.run(...setTo('2026-05-18', '2200 Wh'))).toMatchObject({ code: 0 });
    expect(JSON.parse((await one.run('correct', 'list', '--json')).stdout)).toHaveLength(2);
    const old = await other.run('explain', 'garage', DAY);
    expect(old).toMatchObject({ code: 3, stderr: expect.stringContaining('its newest data is not in') });
  },
);
