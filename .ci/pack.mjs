// Writes the npm tarball of a release, `wattline-<version>.tgz`, into a folder (the current one by default), and prints its path. The program is built
// anew, so nothing of an earlier build is in it. The tarball has the exact version of every package and of Node, so "npm ci" in it installs what was
// tested. Types are not checked here: `npm run check` does that.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildPage } from './build-page.mjs';
import { pagePackages, readJson, releasePackages, root } from './release-packages.mjs';

const bin = join(root, 'node_modules', '.bin');
const staging = mkdtempSync(join(tmpdir(), 'wattline-pack-'));
try {
  process.stdout.write(`${pack(resolve(process.argv[2] ?? '.'))}\n`);
} finally {
  rmSync(staging, { recursive: true, force: true });
}

/** @returns the path of the tarball */
function pack(destination) {
  if (!buildPage(root)) throw new Error('the web page could not be built; see the output above');
  const { devDependencies, scripts: _, ...released } = readJson(join(root, 'package.json'));
  const dependencies = { ...released.dependencies, node: devDependencies.node };
  for (const path of [...released.files.filter((one) => !/^(!|dist$)/.test(one)), 'LICENSE'])
    cpSync(join(root, path), join(staging, path), { recursive: true });
  run(join(bin, 'node'), [
    join(bin, 'tsc'),
    '-p',
    'tsconfig.build.json',
    '--noCheck',
    '--outDir',
    join(staging, 'dist'),
  ]);
  writeJson('package.json', { ...released, dependencies, files: [...released.files, 'npm-shrinkwrap.json'] });
  writeJson('npm-shrinkwrap.json', lockedPackages({ ...released, dependencies }));
  makeReadable(staging);
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', staging, '--json', '--ignore-scripts', '--pack-destination', destination]),
  );
  return join(destination, filename);
}

/** package-lock.json without the packages for development. */
function lockedPackages({ name, version, license, dependencies, bin: commands, engines }) {
  const { packages: _, ...lock } = readJson(join(root, 'package-lock.json'));
  const kept = releasePackages()
    .filter(({ name: one }) => !pagePackages.includes(one))
    .map(({ path, locked: { dev: _dev, ...locked } }) => [path, locked]);
  const own = { name, version, license, dependencies, bin: commands, engines };
  return { ...lock, version, packages: Object.fromEntries([['', own], ...kept]) };
}

/** A checkout can have files that only its owner reads, and a service runs as another user. */
function makeReadable(folder) {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makeReadable(path);
    else chmodSync(path, 0o644);
  }
}

function writeJson(name, value) {
  writeFileSync(join(staging, name), `${JSON.stringify(value, undefined, 2)}\n`);
}

function run(command, args) {
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 2] });
  if (done.status !== 0) throw new Error(`${command} ${args[0]} failed; see the output above`);
  return done.stdout;
}
