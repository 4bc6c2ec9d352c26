import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { addSeries, openTestShard, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const config = `
dataDir: data
workgroups:
  - id: ${WORKGROUP}
    energyStreams: [{ table: t, field: e, method: total_energy }]
    devices: [{ id: ${deviceId(9)}, sources: [verbrauch, main] }]
    roles: [{ source: "grid*", role: grid_import }]
`;

/** A folder with a configuration and a lake. Its devices have these sources. */
async function folderWith(
  sources: ReadonlyArray<readonly [device: number, source: string]>,
): Promise<string> {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  const clock = createTestClock();
  const { shard, lakeDir } = await openTestShard(join(cwd, 'data'), { clock });
  for (const [index, [device, source]] of sources.entries()) {
    await addSeries(shard, index, device, source);
    await storeDays(shard, [{ day: '2026-11-18', device, source, energyWh: 5 }]);
  }
  await publishAndRenew(shard, { lakeDir, declared: { devices: [] }, clock, logger: silentLogger });
  await shard.close();
  return cwd;
}

test('config check prints roles to paste for sources that have none, with reasons, and applies nothing', {
  tags: ['slow'],
}, async () => {
  const cwd = await folderWith([
    [1, 'solar'],
    [1, 'feed_in'],
    [1, 'phase_1'],
    [2, 'solar'],
    [2, 'grid_import'],
    [3, 'total'],
  ]);
  const { code, stdout, stderr } = await runCli(['config', 'check'], { cwd });
  expect(code).toBe(0);
  const [, block = ''] = stderr.split('Paste the correct ones below the workgroup:\n');
  const [pasted = ''] = block.split('wattline: ');
  expect(pasted.trimEnd().split('\n')).toEqual([
    '    roles:',
    '      - { source: feed_in, role: grid_export }   # "feed in" in its name',
    '      - { source: solar, role: production }   # "solar" in its name, of 2 devices',
    '      - { source: verbrauch, role: consumption }   # "verbrauch" in its name',
    '      # - { source: phase_1, role: ... }   # its name suggests no role',
    '      # - { source: main, role: ... }   # its name suggests no role',
  ]);
  const { roles } = parse(pasted) as { roles: object[] };
  expect(workgroupSchema.parse({ id: 'home', roles }).roles).toHaveLength(3);
  expect((parse(stdout) as { workgroups: [{ roles: object[] }] }).workgroups[0].roles).toHaveLength(1);

  const json = await runCommand(['config', 'check', '--json'], { cwd });
  expect((JSON.parse(json.stdout) as { suggestedRoles: unknown }).suggestedRoles).toEqual([
    {
      workgroupId: WORKGROUP,
      roles: expect.arrayContaining([
        { source: 'solar', role: 'production', reason: '"solar" in its name', devices: 2 },
      ]),
      unclear: ['phase_1', 'main'],
    },
  ]);
});

test.each([
  [
    'every source has a role',
    config.replace(/ {4}roles: .*/, '    roles: [{ source: "*", role: consumption }]'),
  ],
  ['no source is known', config.replace(/ {4}devices.*\n/, '')],
])('config check suggests nothing if %s', async (_when, text) => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), text);
  const { code, stderr } = await runCommand(['config', 'check'], { cwd });
  expect(code).toBe(0);
  expect(stderr).not.toContain('roles:');
});
