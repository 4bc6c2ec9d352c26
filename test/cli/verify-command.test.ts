import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { commitPath, fileKey } from '../../src/publish/lake-layout.ts';
import { landMessages, openFixture, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

/** `wattline verify` in a data folder with this workgroup and another one. */
function verifyIn(dataDir: string) {
  writeFileSync(
    join(dataDir, 'wattline.yaml'),
    stringify({ dataDir, workgroups: [{ id: WORKGROUP }, { id: 'other' }] }),
  );
  return async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(['verify', ...args], { cwd: dataDir });
    return { code, stdout, stderr };
  };
}

test('the lake of a machine is read, and each damaged object is named', { tags: ['slow'] }, async () => {
  const dataDir = tempDir();
  const { shard, paths, publish, head } = await openFixture(dataDir, createTestClock());
  await landMessages(shard, { count: 3, storeTimeMs: TEST_START_MS });
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 700 }]);
  await publish();
  await shard.close();
  const { files } = await head();
  const verify = verifyIn(dataDir);
  const sound = await verify('-w', WORKGROUP);
  expect(sound).toMatchObject({ code: 0, stderr: '' });
  expect(sound.stdout.split('\n').map((line) => line.split(/ {2,}/))[1]).toEqual([
    WORKGROUP,
    '1',
    String(files.length),
    '0',
    '0',
    expect.any(String),
    '0',
    'nothing',
  ]);
  const key = fileKey(files[0]!);
  writeFileSync(join(paths.root, key), 'x');
  const damaged = await verify();
  expect(damaged.stdout).toMatch(new RegExp(`^damaged: ${WORKGROUP}/${RegExp.escape(key)}: `, 'm'));
  expect(damaged.code).toBe(1);
  expect(damaged.stderr).toContain(
    `one object is damaged in ${join(dataDir, 'lake')} (${WORKGROUP}/${key}: `,
  );
  // Without any sound commit something is still there.
  writeFileSync(commitPath(paths, 1), 'x');
  expect((await verify()).stderr).toContain(
    `one object is damaged in ${join(dataDir, 'lake')} (${WORKGROUP}/commits/1: `,
  );
});

test('a place without any commit of the workgroups is an error', async () => {
  const place = tempDir();
  const { code, stderr } = await verifyIn(tempDir())(place);
  expect(code).toBe(1);
  expect(stderr).toContain(`${place} has no commits of these workgroups; check the place`);
});
