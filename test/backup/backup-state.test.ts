import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { backupState, restoreState, verifyState } from '../../src/backup/backup-state.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

/** A data folder with these files, and a place for its backups. */
function setUp(files: Readonly<Record<string, string>>) {
  const dataDir = tempDir();
  const place = tempDir();
  const store = createFolderStore(place);
  const clock = createTestClock();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dataDir, path)), { recursive: true });
    writeFileSync(join(dataDir, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  const backUp = (withSecrets = false) =>
    backupState({ store, dataDir, withSecrets, stagingDir: join(tempDir(), 'staging'), clock });
  const restore = async (atMs = TEST_START_MS, into = tempDir()) => ({
    into,
    counts: await restoreState({ store, dataDir: into, atMs }),
    text: (path: string) => readFileSync(join(into, path), 'utf8'),
  });
  return { dataDir, place, store, clock, write, backUp, restore };
}

test('the ledger and the audit entries are stored, equal content once, and keys only if they are asked for', async () => {
  const at = setUp({
    'audit/1.json': 'same',
    'exports/daily/runs/2.json': 'same',
    'exports/daily/3.draft': 'half',
    'access/keys.json': 'secret',
    'warehouse/a.duckdb': 'large',
  });
  expect(await at.backUp()).toEqual({ files: 2, copied: 1 });
  expect(await at.backUp(true)).toEqual({ files: 3, copied: 1 });
  chmodSync(join(at.dataDir, 'access/keys.json'), 0o600);
  at.clock.set(TEST_START_MS + 1_000);
  expect(await at.backUp(true)).toEqual({ files: 3, copied: 0 });
  const { into, counts, text } = await at.restore(TEST_START_MS + 1_000);
  expect(counts).toEqual({ restored: 3, kept: 0 });
  expect([text('audit/1.json'), text('exports/daily/runs/2.json'), text('access/keys.json')]).toEqual([
    'same',
    'same',
    'secret',
  ]);
  expect(statSync(join(into, 'access/keys.json')).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(into, 'exports/daily'))).toEqual(['runs']);
});

test('exports of another folder than the data are stored, and restored into the folder of their own', async () => {
  const at = setUp({ 'audit/1.json': 'entry', 'exports/old.json': 'of another time' });
  const exportsRoot = tempDir();
  mkdirSync(join(exportsRoot, 'exports'));
  writeFileSync(join(exportsRoot, 'exports/ledger.json'), 'ledger');
  const stagingDir = join(tempDir(), 'staging');
  const { store, dataDir, clock } = at;
  const files = { files: 2, copied: 2 };
  expect(await backupState({ store, dataDir, exportsRoot, withSecrets: false, stagingDir, clock })).toEqual(
    files,
  );
  const into = { dataDir: tempDir(), exportsRoot: tempDir() };
  await restoreState({ store, ...into, atMs: TEST_START_MS });
  const filesOf = (folder: string) => readdirSync(folder, { recursive: true }).sort();
  expect(filesOf(into.dataDir)).toEqual(['audit', 'audit/1.json']);
  expect(filesOf(into.exportsRoot)).toEqual(['exports', 'exports/ledger.json']);
});

test('the state that was stored with the data or after it is restored, else the newest, and existing files stay', async () => {
  const at = setUp({ 'audit/1.json': 'first' });
  await at.backUp();
  at.clock.set(TEST_START_MS + 1_000);
  at.write('audit/1.json', 'second');
  await at.backUp();
  for (const [atMs, expected] of [
    [TEST_START_MS, 'first'],
    [TEST_START_MS + 1, 'second'],
    [TEST_START_MS + 9_000, 'second'],
  ] as const)
    expect((await at.restore(atMs)).text('audit/1.json')).toBe(expected);
  const again = await at.restore(TEST_START_MS, at.dataDir);
  expect([again.counts, again.text('audit/1.json')]).toEqual([{ restored: 0, kept: 1 }, 'second']);
});

test('each stored file is checked, and damage is named', async () => {
  const at = setUp({ 'audit/1.json': 'one', 'audit/2.json': 'two' });
  await at.backUp();
  expect(await verifyState(at.store)).toEqual({ files: 2, broken: [] });
  const [first, second] = readdirSync(join(at.place, 'objects'));
  appendFileSync(join(at.place, 'objects', first!), 'x');
  const why = async () => (await verifyState(at.store)).broken.map((one) => one.why).join();
  expect(await why()).toMatch(/its SHA-256 is not its name/);
  rmSync(join(at.place, 'objects', first!));
  expect(await why()).toMatch(/it does not exist/);
  rmSync(join(at.place, 'objects', second!));
  await expect(at.restore()).rejects.toMatchObject({ code: 'ObjectMissing' });
});

test.each(['audit/../../etc/passwd', 'warehouse/a.duckdb', '/etc/passwd', 'audit'])(
  'a manifest that names %s is damaged, and nothing is written',
  async (path) => {
    const at = setUp({ 'audit/1.json': 'one' });
    await at.backUp();
    const [name] = readdirSync(join(at.place, 'manifests'));
    const file = join(at.place, 'manifests', name!);
    writeFileSync(file, readFileSync(file, 'utf8').replace('audit/1.json', path));
    const into = tempDir();
    await expect(at.restore(TEST_START_MS, into)).rejects.toMatchObject({ code: 'ObjectDamaged' });
    expect(readdirSync(into)).toEqual([]);
  },
);
