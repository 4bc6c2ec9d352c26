// @module-tag slow
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GARAGE, homeWorkgroup, openService, readings } from '../operate/operate-fixture.ts';
import { findImports } from '../support/find-imports.ts';
import { npmFile } from '../support/npm-file.ts';
import { blocksOf, repositoryRoot } from '../support/readme.ts';
import { isSoak, sampled } from '../support/rounds.ts';

const modules = join(repositoryRoot, 'node_modules');
const typescript = join(modules, 'typescript', 'bin', 'tsc');
const root = mkdtempSync(join(tmpdir(), 'wattline-test-'));
const source = join(root, 'source');
const project = join(root, 'project');
const installed = join(project, 'node_modules', 'wattline');
afterAll(() => rmSync(root, { recursive: true, force: true }));

/**
 * Builds what the client needs, packs it as npm does, and unpacks it into a separate project next to the
 * libraries.
 */
beforeAll(() => {
  for (const folder of [source, project]) mkdirSync(folder);
  for (const file of ['package.json', 'LICENSE', 'README.md'])
    cpSync(join(repositoryRoot, file), join(source, file));
  const settings = {
    extends: join(repositoryRoot, 'tsconfig.build.json'),
    compilerOptions: { rootDir: repositoryRoot, outDir: join(source, 'dist') },
    include: [join(repositoryRoot, 'src/report-client/wattline-client.ts')],
  };
  writeFileSync(join(source, 'tsconfig.json'), JSON.stringify(settings));
  symlinkSync(modules, join(source, 'node_modules'));
  // The sources are checked elsewhere.
  execFileSync(process.execPath, [typescript, '-p', source, '--noCheck'], { stdio: 'pipe' });
  execFileSync(process.execPath, [npmFile(), 'pack', '--ignore-scripts', '--pack-destination', project], {
    cwd: source,
    stdio: 'pipe',
  });
  const [tarball] = readdirSync(project);
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(project, tarball!), '-C', installed, '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of ['@types/node', 'undici-types', ...Object.keys(dependencies)]) {
    mkdirSync(join(project, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(modules, name), join(project, 'node_modules', name));
  }
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(project, 'example.ts'), blocksOf('docs/client.md', 'ts')[0]!);
});

// report-client/report-client.test.ts runs the client against a service.
test.runIf(isSoak)('the example of the page runs with the packed client against a service', async () => {
  const at = await openService({ workgroups: [homeWorkgroup] });
  await at.send([...readings(GARAGE, ['2026-05-01T22:00:00Z', 1_000], ['2026-05-02T22:00:00Z', 2_500])]);
  await at.untilAnswer<Record<string, object>>(
    'daily-energy?startDate=2026-05-02&endDate=2026-05-03',
    (answer) => GARAGE in answer['2026-05-02']!,
  );
  const { stdout, stderr, status } = spawnSync(process.execPath, ['example.ts'], {
    cwd: project,
    encoding: 'utf8',
    env: { WATTLINE_URL: at.service.url, WATTLINE_TOKEN: at.service.token },
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout.trim().split('\n')).toEqual([
    `2026-05-02 ${GARAGE} 1500 Wh`,
    "[ '2026-05' ]",
    '2026-05-02 final',
    'InvalidRequest 400 false',
    '2 messages without a gap',
  ]);
});

// report-client/client-answers.test.ts compares the types with the schemas of the service.
test.runIf(isSoak).each(sampled(['nodenext', 'bundler'], 2))(
  'the types of the package are right for %s, with strict and without skipLibCheck',
  (resolution) => {
    const folder = join(project, resolution);
    mkdirSync(folder);
    const compilerOptions = {
      strict: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      types: ['node'],
      module: resolution === 'nodenext' ? 'nodenext' : 'esnext',
      moduleResolution: resolution,
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['../example.ts', 'wrong.ts'] }),
    );
    const wrong = [
      "import { createReportClient } from 'wattline/client';",
      "const client = createReportClient({ url: '', token: '', workgroup: 'home' });",
      '// @ts-expect-error energy is a number',
      "const day: string = (await client.dailyEnergy())['2026-05-02']!['x']!;",
      '// @ts-expect-error there is no such report',
      "client.rows('no-report');",
      'export { day };',
    ];
    writeFileSync(join(folder, 'wrong.ts'), wrong.join('\n'));
    const { stdout } = spawnSync(process.execPath, [typescript, '-p', folder], { encoding: 'utf8' });
    expect(stdout).toBe('');
  },
);

test('the import of the client loads no part of the server, and everybody can read its files', () => {
  const files = new Set<string>();
  const libraries = new Set<string>();
  const visit = (path: string) => {
    if (files.has(path)) return;
    files.add(path);
    const text = readFileSync(join(installed, path), 'utf8');
    for (const { target, isLibrary, text: statement } of findImports({ path, text }))
      if (isLibrary) libraries.add(target);
      else if (!statement.startsWith('import(')) visit(target);
  };
  visit('dist/src/report-client/wattline-client.js');
  expect([...libraries].filter((name) => !name.startsWith('node:')).sort()).toEqual([
    'lru-cache',
    'temporal-polyfill',
  ]);
  expect(
    [...files].filter((path) => !/^dist\/src\/(lib|client|contract|report-client)\//.test(path)),
  ).toEqual([]);
  const [, told] = /loads (\d+) small files/.exec(
    readFileSync(join(repositoryRoot, 'docs/client.md'), 'utf8'),
  )!;
  expect(files.size).toBe(Number(told));
  for (const path of files) {
    expect(statSync(join(installed, path.replace(/\.js$/, '.d.ts'))).isFile()).toBe(true);
    expect(statSync(join(installed, path)).mode & 0o444).toBe(0o444);
  }
});
