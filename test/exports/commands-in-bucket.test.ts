import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { machine, work } from '../replica/replica-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

test.skipIf(!isSoak || s3Missing)(
  'the command exports delivers a period once on machines that share only a bucket',
  { timeout: 240_000 },
  async () => {
    const { timeouts: _, ...s3 } = await s3ForTests();
    const owner = await work(machine(), createS3Store({ ...s3, prefix: `${s3.prefix}${WORKGROUP}/` }));
    await owner.owner.mirror(await owner.grow());
    await owner.shard.close();
    const target = tempDir();
    const newMachine = () => {
      const cwd = tempDir();
      const daily = {
        id: 'daily',
        workgroup: WORKGROUP,
        report: 'daily_energy',
        range: 'yesterday',
        groupBy: 'source',
        format: 'csv',
        destination: { folder: target },
      };
      const config = { workgroups: [{ id: WORKGROUP }], exports: [daily], storage: { s3 } };
      writeFileSync(join(cwd, 'wattline.yaml'), stringify(config));
      const run = async (...args: string[]) => {
        const { code, stdout, stderr } = await runCommand(['exports', ...args, '--json'], { cwd });
        expect(code, stderr).toBe(0);
        return JSON.parse(stdout);
      };
      return { cwd, run };
    };
    const [one, other] = [newMachine(), newMachine()];
    const period = ['--period', '2026-11-19'];
    const first = await one.run('run', 'daily', ...period);
    expect(first).toMatchObject({ state: 'delivered', already: false });
    expect(await other.run('run', 'daily', ...period)).toEqual({ ...first, already: true });
    const corrected = await other.run('run', 'daily', ...period, '--corrected');
    expect(corrected).toMatchObject({ revision: 2, already: false });
    expect(await one.run('list')).toMatchObject([{ id: 'daily', pending: 0, lastRun: { revision: 2 } }]);
    expect(readdirSync(target)).toEqual(['daily_2026-11-19.csv', 'daily_2026-11-19_r2.csv']);
    expect(existsSync(join(one.cwd, 'data/exports/daily/runs'))).toBe(false);
  },
);
