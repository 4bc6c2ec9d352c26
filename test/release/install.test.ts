import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import packageFile from '../../package.json' with { type: 'json' };
import { freePort } from '../support/free-port.ts';
import { blocksOf, pages, repositoryRoot } from '../support/readme.ts';
import { tempDir } from '../support/temp-dir.ts';
import { PROVED_WORKGROUPS, proveService, startInstalled } from './installed-program.ts';
import { packTarball } from './pack-tarball.ts';

/** They take minutes, and fetch 100 MB each. */
const isSoak = process.env.WATTLINE_SOAK === '1';
const timeout = 1_800_000;
const page = pages.get('docs/install.md')!;
const commands = blocksOf('docs/install.md', 'sh');
const environment = { PATH: process.env.PATH!, HOME: process.env.HOME! };

/** A configuration for a service on a free port, in a separate folder. */
async function configured(): Promise<{ cwd: string; url: string }> {
  const cwd = tempDir();
  const port = await freePort();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ http: { port }, workgroups: PROVED_WORKGROUPS }));
  return { cwd, url: `http://127.0.0.1:${port}` };
}

/** Starts `wattline up` of an installation, asks it, and stops it. */
async function proveInstallation(
  { cwd, url }: { cwd: string; url: string },
  command: readonly string[],
  askToEnd?: (pid: number) => void,
): Promise<void> {
  const service = startInstalled(url, [...command, 'up'], { cwd, environment });
  await service.untilReady();
  const args = [
    'token',
    'create',
    'me',
    '-w',
    'home',
    '--permission',
    'search:read',
    '--permission',
    'data:write',
  ];
  const [file, ...first] = command;
  const made = execFileSync(file!, [...first, ...args, '--json'], {
    cwd,
    env: environment,
    encoding: 'utf8',
  });
  await proveService(url, JSON.parse(made).token);
  askToEnd?.(service.processId);
  expect(await (askToEnd ? service.ended : service.stop()), service.errorText()).toBe(0);
}

test('docs/install.md names this version, and files that are there', () => {
  const versions = [...page.matchAll(/wattline[-:](\d+\.\d+\.\d+)/g)].map(([, version]) => version);
  expect(new Set(versions)).toEqual(new Set([packageFile.version]));
  const files = [...commands.join('').matchAll(/(?:\/opt\/wattline\/|[ ])((?:ops|\.ci)\/\S+)/g)];
  expect(files.length).toBeGreaterThanOrEqual(4);
  for (const [, file] of files) expect([file, existsSync(join(repositoryRoot, file!))]).toEqual([file, true]);
});

test.skipIf(!isSoak)('the tarball is installed and starts as docs/install.md says', { timeout }, async () => {
  const cwd = tempDir();
  packTarball(cwd);
  const target = join(cwd, 'installed');
  const block = commands.find((text) => text.startsWith('mkdir -p /opt/wattline'))!;
  const script = block.replaceAll('/opt/wattline', target);
  const printed = execFileSync('sh', ['-e', '-c', script], { cwd, env: environment, encoding: 'utf8' });
  expect(printed).toContain(`wattline ${packageFile.version}`);
  const program = [join(target, 'node_modules/.bin/node'), join(target, 'dist/src/cli.js')];
  await proveInstallation(await configured(), program);
});

test.skipIf(!isSoak)('npm installs the tarball into an empty folder', { timeout }, async () => {
  const cwd = tempDir();
  const tarball = packTarball(cwd);
  const folder = join(cwd, 'empty');
  mkdirSync(folder);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', tarball], { cwd: folder, stdio: 'pipe' });
  await proveInstallation(await configured(), [process.execPath, join(folder, 'node_modules/.bin/wattline')]);
});

const imageMissing =
  process.getuid?.() !== 0 ||
  ['mmdebstrap', 'buildah'].some((tool) => spawnSync(tool, ['--version']).status !== 0);

test.skipIf(!isSoak || imageMissing)(
  'the image runs as its user and stops in order',
  { timeout },
  async () => {
    const folder = tempDir();
    const archive = execFileSync(process.execPath, ['.ci/build-image.mjs', packTarball(folder), folder], {
      cwd: repositoryRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
    const buildah = (...args: string[]) => execFileSync('buildah', args, { encoding: 'utf8' }).trim();
    execFileSync('gunzip', [archive]);
    const container = buildah('from', `docker-archive:${archive.replace(/\.gz$/, '')}`);
    onTestFinished(() => void buildah('rm', container));
    const { config } = JSON.parse(buildah('inspect', container)).Docker;
    expect(config).toMatchObject({
      User: '10001:10001',
      Volumes: { '/data': {} },
      Entrypoint: ['/usr/bin/wattline'],
      Cmd: ['up'],
    });
    expect(config.Healthcheck.Test[0]).toBe('CMD');
    const place = await configured();
    mkdirSync(join(place.cwd, 'data'));
    for (const path of ['.', 'data']) chownSync(join(place.cwd, path), 10_001, 10_001);
    const volumes = [`${join(place.cwd, 'data')}:/data`, `${place.cwd}:/etc/wattline:ro`];
    const mounts = volumes.flatMap((volume) => ['--volume', volume]);
    const run = ['buildah', 'run', '--isolation', 'chroot', ...mounts, container, '--', '/usr/bin/wattline'];
    // The signal of a runtime goes to the process itself. Buildah would kill it.
    await proveInstallation(place, run, (pid) => process.kill(lastDescendant(pid), 'SIGTERM'));
    expect(
      spawnSync('buildah', ['run', '--isolation', 'chroot', container, '--', '/bin/sh']).status,
    ).not.toBe(0);
  },
);

/** The process that a chain of processes has started at its end. */
function lastDescendant(pid: number): number {
  const child = spawnSync('pgrep', ['--parent', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return child === '' ? pid : lastDescendant(Number(child.split('\n')[0]));
}
