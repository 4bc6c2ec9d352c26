import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { publish } from '../../src/publish/publish.ts';
import { holdRoles } from '../../src/service/hold-roles.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { landMessages } from '../publish/publish-fixture.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

/** A machine with two workgroups, whose service does not run. */
function setUp() {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), 'workgroups: [{ id: home }, { id: barn }]\n');
  const data = (path: string) => join(cwd, 'data', path);
  const place = join(tempDir(), 'backup');
  return {
    data,
    run: (...args: string[]) => runCommand(args, { cwd }),
    /** Publishes the next messages of a workgroup. @param batch how many calls there were before */
    async grow(workgroupId: string, batch: number): Promise<void> {
      const lakeDir = data('lake');
      const shard = await openShard({
        path: data(`warehouse/${workgroupId}.duckdb`),
        workgroupId,
        memoryMegabytes: 256,
        threads: 1,
        folders: [lakeDir],
        clock: systemClock,
        logger: silentLogger,
      });
      await landMessages(shard, { count: 2, storeTimeMs: TEST_START_MS + batch * 1_000 });
      await publish(shard, { lakeDir, clock: systemClock, logger: silentLogger });
      await shard.close();
    },
    /** Changes a file of the exports, and backs everything up. */
    async backUp(state: string): Promise<void> {
      mkdirSync(dirname(data('exports/ledger')), { recursive: true });
      writeFileSync(data('exports/ledger'), state);
      expect(await runCommand(['backup', place], { cwd })).toMatchObject({ code: 0 });
    },
    place,
  };
}

test('the state of exports comes from the backup of the workgroup with the newest data', async () => {
  const { data, place, run, grow, backUp } = setUp();
  await grow('home', 0);
  await grow('barn', 0);
  await backUp('before the newest data of barn');
  await grow('barn', 1);
  await backUp('after it');
  rmSync(data('.'), { recursive: true });
  // Each workgroup numbers its own commits, so one number would mean different times.
  const refused = await run('restore', place, '--at', '99');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('name a workgroup, because each one numbers its own commits'),
  ]);
  expect(await run('restore', place)).toMatchObject({ code: 0 });
  expect(readFileSync(data('exports/ledger'), 'utf8')).toBe('after it');
});

test.each(['stream', 'worker'] as const)('nothing is restored while the %s runs', async (role) => {
  const { data, place, run } = setUp();
  onTestFinished(await holdRoles(configSchema.parse({ dataDir: data('.') }), [role], systemClock));
  const refused = await run('restore', place, '--force');
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining(`the ${role} already runs`)]);
});
