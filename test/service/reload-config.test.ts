import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { createConfigLoader } from '../../src/config/config-loader.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { InputError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { createConfigReload } from '../../src/service/reload-config.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

/** The configuration of a process with the workgroup `home`. `write` and `remove` change its files. */
function openReload() {
  const cwd = tempDir();
  const file = (name: string) => join(cwd, 'workgroups.d', `${name}.yaml`);
  mkdirSync(join(cwd, 'workgroups.d'));
  const write = (name: string, text: string) => writeFileSync(file(name), text);
  const writeMain = (text: string) => writeFileSync(join(cwd, 'wattline.yaml'), `dataDir: ./data\n${text}`);
  writeMain('');
  write('home', 'id: home\n');
  const loader = createConfigLoader({ cwd, environment: {} });
  const loaded = loader.load();
  const workgroups = createWorkgroups(loaded);
  const clock = createTestClock();
  const audit = createAudit({ dataDir: loaded.dataDir, actor: 'test', clock });
  const source = { loader, loaded };
  const roles = ['stream', 'worker', 'report'] as const;
  const reloads = createConfigReload({ source, roles, workgroups, audit, clock, logger: silentLogger });
  return { ...reloads, clock, workgroups, write, writeMain, remove: (name: string) => rmSync(file(name)) };
}

test('a refused reload changes nothing and is kept in the state, until one is accepted', async () => {
  const { reload, state, clock, workgroups, write, remove } = openReload();
  expect(state()).toEqual({ loadedAtMs: TEST_START_MS, needRestart: [] });
  write('new', 'id: new\n');
  write('broken', 'id: broken\ntimezone: Mars\n');
  await clock.advance(MINUTE_MS);
  const refusal = await reload().catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(InputError);
  const { message } = refusal as InputError;
  expect(message).toContain('workgroups.d/broken.yaml: timezone: is not a time zone');
  const refused = { atMs: TEST_START_MS + MINUTE_MS, message };
  expect(state()).toEqual({ loadedAtMs: TEST_START_MS, needRestart: [], refused });
  expect(workgroups.get('new')).toBeUndefined();

  remove('broken');
  await clock.advance(MINUTE_MS);
  expect(await reload()).toEqual({
    added: ['new'],
    changed: [],
    removed: [],
    alerts: false,
    needRestart: [],
  });
  expect(state()).toEqual({ loadedAtMs: TEST_START_MS + 2 * MINUTE_MS, needRestart: [] });
  expect(workgroups.get('new')).toMatchObject({ id: 'new' });
});

test('settings that need a restart are named at each reload until they are as at the start, also after a refusal', async () => {
  const { reload, state, write, writeMain, remove } = openReload();
  const needRestart = ['pipeline.pollEvery'];
  writeMain('pipeline: { pollEvery: 5s }\n');
  expect(await reload()).toMatchObject({ needRestart });
  expect(await reload()).toMatchObject({ needRestart, changed: [] });
  write('broken', 'id: broken\ntimezone: Mars\n');
  await expect(reload()).rejects.toThrow('timezone');
  expect(state()).toMatchObject({ needRestart });
  remove('broken');
  writeMain('');
  expect(await reload()).toMatchObject({ needRestart: [] });
  expect(state().needRestart).toEqual([]);
});

test('a reload names the workgroups that it adds, changes and removes', async () => {
  const { reload, write, remove } = openReload();
  write('plant', 'id: plant\n');
  await reload();
  write('new', 'id: new\n');
  write('plant', 'id: plant\ntimezone: Europe/Paris\n');
  remove('home');
  expect(await reload()).toMatchObject({ added: ['new'], changed: ['plant'], removed: ['home'] });
});

test('a configuration that other processes could not share is refused, as at the start', async () => {
  const { reload, state, writeMain } = openReload();
  writeMain('queue: { backend: redis, redisUrl: "redis://127.0.0.1" }\nstorage: {}\n');
  await expect(reload()).rejects.toThrow('storage.shared: is needed with queue.backend: redis');
  expect(state().refused!.message).toContain('storage.shared');
});
