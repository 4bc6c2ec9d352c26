import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { ConfigInput } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { machine, work } from '../replica/replica-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { runCommand } from '../support/run-command.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

const day = '2024-05-01';
const since = ['--since', '2024-01-01'];

/** A configuration with a bucket, its replica of a workgroup, and folders of several machines. */
async function openBucket() {
  const s3 = await s3ForTests();
  const store = createS3Store({ ...s3, prefix: `${s3.prefix}${WORKGROUP}/` });
  const commands = (dataDir: string) => {
    const input: ConfigInput = {
      dataDir,
      storage: { s3 },
      workgroups: [{ id: WORKGROUP, devices: [{ id: deviceId(1), name: 'garage' }] }],
      exports: [
        {
          id: 'billing',
          workgroup: WORKGROUP,
          report: 'daily_energy',
          range: 'yesterday',
          groupBy: 'source',
          format: 'csv',
          destination: { folder: join(dataDir, 'target') },
        },
      ],
    };
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(join(dataDir, 'wattline.yaml'), stringify(input));
    return (...args: string[]) => runCommand(args, { cwd: dataDir });
  };
  return { store, commands };
}

describe.skipIf(s3Missing)('commands on a machine without the workgroup', { timeout: 240_000 }, () => {
  test('read the bucket: changes, devices and exports', async () => {
    const { store, commands } = await openBucket();
    const dataDir = join(tempDir(), 'elsewhere');
    const run = commands(dataDir);
    expect(await run('changes', ...since)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no worker has stored data of this workgroup yet'),
    });

    const on = machine();
    const { shard, snapshot, owner } = await work(on, store);
    await storeDays(shard, [{ day, device: 1, energyWh: 1_677 }]);
    await publishAndRenew(shard, { lakeDir: on.lakeDir, clock: systemClock, logger: silentLogger });
    await owner.mirror(await snapshot());
    expect(await run('changes', ...since)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no closed day has changed'),
    });
    expect(await run('status', '--devices')).toMatchObject({ code: 0 });
    const exported = await run('exports', 'run', 'billing', '--period', day);
    expect([exported.code, exported.stderr]).toEqual([0, '']);
    expect(readFileSync(join(dataDir, 'target', `billing_${day}.csv`), 'utf8')).toContain(',1677,');
    expect(['warehouse', 'lake'].filter((name) => existsSync(join(dataDir, name)))).toEqual([]);
  });

  test('explain and correct list read the local warehouse only if it is the newest one', async () => {
    const { store, commands } = await openBucket();
    const dataDirs = [join(tempDir(), 'a'), join(tempDir(), 'b')];
    const [a, b] = dataDirs.map(commands);
    const first = await work(machine(dataDirs[0]), store);
    await first.owner.mirror(await first.grow());
    await first.shard.close();
    expect(await a!('correct', 'list')).toMatchObject({ code: 0 });
    const elsewhere = {
      code: 3,
      stderr: expect.stringContaining('start a worker on any machine'),
    };
    expect(await b!('explain', 'garage', day)).toMatchObject(elsewhere);
    // Another machine continues, and its warehouse is the newest one.
    const second = await work(machine(dataDirs[1]), store);
    await second.owner.mirror(await second.grow());
    await second.shard.close();
    expect(await b!('correct', 'list')).toMatchObject({ code: 0 });
    for (const command of [
      ['explain', 'garage', day],
      ['correct', 'list'],
    ])
      expect(await a!(...command)).toMatchObject(elsewhere);
  });
});
