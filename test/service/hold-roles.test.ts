import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { systemClock } from '../../src/lib/time.ts';
import { holdExport, holdRoles, type Role } from '../../src/service/hold-roles.ts';
import { tempDir } from '../support/temp-dir.ts';

const redis = { backend: 'redis', redisUrl: 'redis://127.0.0.1' };

test.each<[what: string, settings: object, roles: Role[], locked: string[]]>([
  ['all roles', {}, ['stream', 'worker', 'report'], ['stream', 'worker']],
  ['reports only', {}, ['report'], []],
  ['the stream only', {}, ['stream'], ['stream']],
  ['a log in memory', { stream: { log: 'memory' } }, ['stream', 'worker'], ['worker']],
  ['a queue in Redis', { queue: redis }, ['stream', 'worker'], ['stream']],
])(
  'a data folder is locked for the roles that must be alone on it: %s',
  async (_, settings, roles, locked) => {
    const dataDir = tempDir();
    const release = await holdRoles(configSchema.parse({ dataDir, ...settings }), roles, systemClock);
    const folder = join(dataDir, 'lock');
    const files = existsSync(folder) ? readdirSync(folder) : [];
    expect(files.filter((name) => name.endsWith('.duckdb')).sort()).toEqual(
      locked.map((role) => `${role}.duckdb`),
    );
    await release();
    const again = await holdRoles(configSchema.parse({ dataDir, ...settings }), roles, systemClock);
    await again();
  },
);

test('a lock that a full disk left incomplete is made again', async () => {
  const dataDir = tempDir();
  const release = await holdExport(dataDir, 'daily', systemClock);
  await release!();
  const file = join(dataDir, 'lock', 'export-daily.duckdb');
  writeFileSync(file, 'a part of it');
  await (await holdExport(dataDir, 'daily', systemClock))!();
  expect(existsSync(file)).toBe(true);
});
