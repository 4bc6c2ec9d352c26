// Makes the image of a release without a daemon, from Debian packages and npm alone, and prints the path of its archive:
//   node .ci/build-image.mjs wattline-<version>.tgz [folder]
// It needs the commands mmdebstrap and buildah, and root. The settings of the image are those of the last stage of ops/image/Dockerfile.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readJson, root } from './release-packages.mjs';

const SYSTEM_PACKAGES = 'libc6,libstdc++6,ca-certificates,tzdata';
const SUITE = 'bookworm';
/** Commands and pages of these packages, which nothing in the image can run or read. */
const UNUSED = ['dev', 'tmp', 'usr/bin', 'usr/sbin', 'usr/share/perl5', 'usr/share/man'];

const [tarball, destination = '.'] = process.argv.slice(2);
if (tarball === undefined) throw new Error('name the tarball that "npm run package" has written');
const context = mkdtempSync(join(tmpdir(), 'wattline-image-'));
try {
  addSystem(join(context, 'system'));
  addProgram(join(context, 'image'), resolve(tarball));
  mkdirSync(join(context, 'owned', 'data'), { recursive: true, mode: 0o700 });
  process.stdout.write(`${buildImage(resolve(destination))}\n`);
} finally {
  rmSync(context, { recursive: true, force: true });
}

/** The libraries that Node needs, certificates and time zones. Packages are extracted and not installed, so there is no shell. */
function addSystem(system) {
  run('mmdebstrap', ['--variant=extract', `--include=${SYSTEM_PACKAGES}`, SUITE, system]);
  const certificates = join(system, 'usr/share/ca-certificates/mozilla');
  const all = readdirSync(certificates).map((name) => readFileSync(join(certificates, name), 'utf8'));
  writeFileSync(join(system, 'etc/ssl/certs/ca-certificates.crt'), all.join(''));
  for (const path of UNUSED) rmSync(join(system, path), { recursive: true, force: true });
}

function addProgram(image, file) {
  const program = join(image, 'opt', 'wattline');
  for (const path of ['etc/wattline', 'usr/bin', 'opt/wattline', 'tmp'])
    mkdirSync(join(image, path), { recursive: true });
  chmodSync(join(image, 'tmp'), 0o1777);
  run('tar', ['xzf', file, '--strip-components=1', '--no-same-owner', '-C', program]);
  run('npm', ['ci', '--no-audit', '--no-fund'], program);
  renameSync(join(program, 'node_modules/node/bin/node'), join(image, 'usr/bin/node'));
  rmSync(join(program, 'node_modules/node'), { recursive: true });
  const source = join(program, 'ops/image');
  cpSync(join(source, 'wattline.mjs'), join(image, 'usr/bin/wattline'));
  chmodSync(join(image, 'usr/bin/wattline'), 0o755);
  for (const name of ['passwd', 'group']) cpSync(join(source, name), join(image, 'etc', name));
}

/** @returns the path of the archive */
function buildImage(folder) {
  const { version } = readJson(join(root, 'package.json'));
  const text = readFileSync(join(root, 'ops/image/Dockerfile'), 'utf8');
  const settings = text
    .slice(text.lastIndexOf('\nFROM scratch\n'))
    .replaceAll(/^COPY --from=\w+ (--chown=\S+ )?\/(\w+)\/ \/$/gm, 'COPY $1$2/ /');
  writeFileSync(join(context, 'Dockerfile'), settings);
  const name = `wattline:${version}`;
  const archive = join(folder, `wattline-${version}.image.tar`);
  const label = `org.opencontainers.image.version=${version}`;
  run('buildah', [
    'build',
    '--isolation',
    'chroot',
    '--format',
    'docker',
    '--label',
    label,
    '--tag',
    name,
    context,
  ]);
  rmSync(archive, { force: true });
  // The format of Docker, because that of OCI has no health check.
  run('buildah', ['push', name, `docker-archive:${archive}:${name}`]);
  run('gzip', ['--force', archive]);
  return `${archive}.gz`;
}

function run(command, args, cwd = root) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? 'see the output above'}`);
}
