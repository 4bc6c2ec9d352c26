import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createConfigLoader } from '../../src/config/config-loader.ts';
import { configWarnings } from '../../src/config/config-warnings.ts';
import { InputError, type Problem } from '../../src/lib/errors.ts';
import { loadConfig } from '../support/load-config.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const FILES = rounds(1_500, 10_000);

function folderWith(files: Record<string, string>): string {
  const cwd = tempDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  return cwd;
}

function problemsOf(files: Record<string, string>): Problem[] {
  const cwd = folderWith(files);
  try {
    loadConfig({ cwd, environment: {} });
  } catch (error) {
    if (error instanceof InputError) return [...error.problems];
    throw error;
  }
  throw new Error('it was accepted');
}

test('files of workgroups are read from workgroups.d in the order of their names, each with one workgroup or a list', () => {
  const cwd = folderWith({
    'wattline.yaml': 'workgroups: [{ id: main }]',
    'workgroups.d/20-homes.yaml': '- id: one\n- { id: two, meters: { file: meters.csv } }',
    'workgroups.d/10-plant.yml': `id: plant\ntimezone: \${ZONE}`,
    'workgroups.d/meters.csv': 'code,direction\nGRID-1,export\n',
    'workgroups.d/.20-homes.yaml.swp': 'not: read',
    'workgroups.d/.hidden.yaml': 'not: read',
    'workgroups.d/notes.txt': 'not read',
    'workgroups.d/old.yaml/30-old.yaml': 'id: old',
  });
  const { workgroups } = loadConfig({ cwd, environment: { ZONE: 'Europe/Paris' } });
  expect(workgroups.map(({ id }) => id)).toEqual(['main', 'plant', 'one', 'two']);
  expect(workgroups[1]!.timezone).toBe('Europe/Paris');
  expect(workgroups[3]!.meters).toMatchObject([{ code: 'GRID-1' }]);
});

test('the folder needs no main file, can be elsewhere, and must exist if a setting names it', () => {
  const alone = folderWith({ 'workgroups.d/home.yaml': 'id: home' });
  expect(loadConfig({ cwd: alone, environment: {} }).workgroups).toMatchObject([{ id: 'home' }]);
  const named = folderWith({ 'wattline.yaml': 'workgroupsDir: tenants', 'tenants/home.yaml': 'id: home' });
  expect(loadConfig({ cwd: named, environment: {} }).workgroups).toMatchObject([{ id: 'home' }]);
  const [missing] = problemsOf({ 'wattline.yaml': 'workgroupsDir: tenants' });
  expect(missing).toMatchObject({
    path: 'workgroupsDir',
    message: expect.stringContaining('does not exist'),
  });
});

test('problems of all files are reported at once, each with its file and path', () => {
  const problems = problemsOf({
    'wattline.yaml': 'workgroups: [{ id: main, timezone: Mars }]',
    'workgroups.d/a.yaml': `id: a\ntimezone: \${NOWHERE}`,
    'workgroups.d/b.yaml': 'id: b\nenergyStreams: [{ table: solar, method: total_energy }]',
    'workgroups.d/c.yaml': '- id: c\n- { id: c2, timezone: Mars }',
    'workgroups.d/d.yaml': 'id: [',
    'workgroups.d/e.yaml': '',
    'workgroups.d/f.yaml': 'workgroups: [{ id: f }]',
  });
  expect(problems).toEqual([
    { path: 'workgroups.0.timezone', message: expect.stringContaining('is not a time zone') },
    { path: 'workgroups.d/a.yaml: timezone', message: 'the environment has no variable NOWHERE' },
    { path: 'workgroups.d/b.yaml: energyStreams.0.field', message: 'is missing' },
    { path: 'workgroups.d/c.yaml: 1.timezone', message: expect.stringContaining('is not a time zone') },
    { path: 'workgroups.d/d.yaml', message: expect.stringContaining('is not YAML') },
    { path: 'workgroups.d/e.yaml', message: 'is empty: remove it, or give it a value' },
    { path: 'workgroups.d/f.yaml: id', message: 'is missing' },
    { path: 'workgroups.d/f.yaml: workgroups', message: expect.any(String) },
  ]);
});

test('ids differ over all files, also in case', () => {
  const problems = problemsOf({
    'wattline.yaml': 'workgroups: [{ id: home }]',
    'workgroups.d/a.yaml': 'id: Home',
    'workgroups.d/b.yaml': '- id: plant\n- id: plant',
  });
  expect(problems).toEqual([
    {
      path: 'workgroups.d/a.yaml: id',
      message: '"Home" is used twice; the other is in workgroups of the main file',
    },
    {
      path: 'workgroups.d/b.yaml: id',
      message: '"plant" is used twice; the other is in workgroups.d/b.yaml',
    },
  ]);
});

test('an export of the main file can name a workgroup of another file, and only an existing one', () => {
  const exported = (workgroup: string) =>
    `exports: [{ id: e, workgroup: ${workgroup}, report: daily_energy, range: yesterday, format: csv, destination: { folder: out } }]`;
  const cwd = folderWith({ 'wattline.yaml': exported('home'), 'workgroups.d/home.yaml': 'id: home' });
  expect(loadConfig({ cwd, environment: {} }).exports).toHaveLength(1);
  expect(
    problemsOf({ 'wattline.yaml': exported('hom'), 'workgroups.d/home.yaml': 'id: home' }),
  ).toMatchObject([{ path: 'exports.0.workgroup', message: '"hom" is not configured; configured are home' }]);
});

test('a warning names the file of its workgroup', () => {
  const cwd = folderWith({
    'wattline.yaml': 'workgroups: [{ id: main }]',
    'workgroups.d/a.yaml': 'id: a',
    'workgroups.d/b.yaml': '- id: b',
  });
  expect(configWarnings(loadConfig({ cwd, environment: {} })).map(({ path }) => path)).toEqual([
    'workgroups.0.energyStreams',
    'workgroups.d/a.yaml: energyStreams',
    'workgroups.d/b.yaml: 0.energyStreams',
  ]);
});

test('old names of settings still work, with a warning that says the new one', () => {
  const streams = (name: string) =>
    `energyStreams: [{ table: solar, field: wh, method: total_energy, ${name}: [{ device: ${DEVICE}, at: 2026-01-01T00:00:00Z, final: 5 }] }]`;
  const folder = (names: { most: string; threads: string; changes: string }) =>
    folderWith({
      'wattline.yaml': `{ pipeline: { ${names.most}: 3, ${names.threads}: 4 }, workgroups: [{ id: main, ${streams(names.changes)} }] }`,
      'workgroups.d/b.yaml': `- { id: b, ${streams(names.changes)} }`,
    });
  const load = (cwd: string) => {
    const { pipeline, workgroups } = loadConfig({ cwd, environment: {} });
    return { pipeline, workgroups };
  };
  const before = folder({ most: 'openShardsMax', threads: 'threads', changes: 'registerEpochs' });
  const now = folder({ most: 'openWorkgroupsMax', threads: 'warehouseThreads', changes: 'registerChanges' });
  expect(load(before)).toEqual(load(now));
  expect(load(now).pipeline).toMatchObject({ openWorkgroupsMax: 3, warehouseThreads: 4 });
  expect(load(now).workgroups.map(({ energyStreams: [one] }) => one!.registerChanges.length)).toEqual([1, 1]);
  expect(configWarnings(loadConfig({ cwd: now, environment: {} }))).toEqual([]);
  expect(configWarnings(loadConfig({ cwd: before, environment: {} }))).toEqual([
    { path: 'pipeline.openShardsMax', message: 'is an old name; write openWorkgroupsMax' },
    { path: 'pipeline.threads', message: 'is an old name; write warehouseThreads' },
    {
      path: 'workgroups.0.energyStreams.0.registerEpochs',
      message: 'is an old name; write registerChanges',
    },
    {
      path: 'workgroups.d/b.yaml: 0.energyStreams.0.registerEpochs',
      message: 'is an old name; write registerChanges',
    },
  ]);
  const both = folderWith({ 'wattline.yaml': '{ pipeline: { threads: 1, warehouseThreads: 2 } }' });
  expect(() => load(both)).toThrow('pipeline.threads');
});

test('a second load keeps unchanged workgroups, and notices changed, new and removed files and changed references', async () => {
  const cwd = folderWith({
    'workgroups.d/same.yaml': 'id: same',
    'workgroups.d/changed.yaml': 'id: changed',
    'workgroups.d/gone.yaml': 'id: gone',
    'workgroups.d/meters.csv': 'code,direction\nGRID-1,export\n',
    'workgroups.d/refers.yaml': 'id: refers\nmeters: { file: meters.csv }',
  });
  const loader = createConfigLoader({ cwd, environment: {} });
  const byId = (config: ReturnType<typeof loader.load>) =>
    new Map(config.workgroups.map((one) => [one.id, one]));
  const first = byId(loader.load());
  const file = (name: string) => join(cwd, 'workgroups.d', name);
  writeFileSync(file('changed.yaml'), 'id: changed\ntimezone: Europe/Paris');
  writeFileSync(file('new.yaml'), 'id: new');
  writeFileSync(file('meters.csv'), 'code,direction\nGRID-2,export\n');
  rmSync(file('gone.yaml'));
  const second = byId(await loader.reload());
  expect([...second.keys()]).toEqual(['changed', 'new', 'refers', 'same']);
  expect(second.get('same')).toBe(first.get('same'));
  expect(second.get('changed')!.timezone).toBe('Europe/Paris');
  expect(second.get('refers')!.meters).toMatchObject([{ code: 'GRID-2' }]);

  writeFileSync(file('changed.yaml'), 'id: changed\ntimezone: Mars');
  await expect(loader.reload()).rejects.toThrow('workgroups.d/changed.yaml: timezone: is not a time zone');
  writeFileSync(file('changed.yaml'), 'id: changed');
  expect((await loader.reload()).workgroups).toHaveLength(4);
});

test(`${FILES} files are parsed once, and a second load keeps what was parsed`, {
  tags: ['slow'],
}, async () => {
  const files = Object.fromEntries(
    Array.from({ length: FILES }, (_, index) => [
      `workgroups.d/wg-${index}.yaml`,
      `id: wg-${index}\nenergyStreams: [{ table: solar, field: total, method: total_energy, unit: kWh }]\n`,
    ]),
  );
  const loader = createConfigLoader({ cwd: folderWith(files), environment: {} });
  const first = loader.load().workgroups;
  expect(first).toHaveLength(FILES);
  const again = (await loader.reload()).workgroups;
  expect(again).toHaveLength(FILES);
  expect(again.filter((workgroup, index) => workgroup !== first[index])).toEqual([]);
});
