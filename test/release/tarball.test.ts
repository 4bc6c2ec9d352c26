import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import packageFile from '../../package.json' with { type: 'json' };
import lockFile from '../../package-lock.json' with { type: 'json' };
import { freePort } from '../support/free-port.ts';
import { repositoryRoot } from '../support/readme.ts';
import { tempDir } from '../support/temp-dir.ts';
import { PROVED_WORKGROUPS, proveService, startInstalled } from './installed-program.ts';
import { packTarball } from './pack-tarball.ts';
import { preparePlace } from './prepare-place.ts';

/** The tarball, unpacked, with the packages of the checkout. */
function unpack(): { folder: string; released: typeof packageFile; listing: string } {
  const folder = tempDir();
  const tarball = packTarball(folder);
  const listing = execFileSync('tar', ['tvzf', tarball], { encoding: 'utf8' });
  execFileSync('tar', ['xzf', tarball, '-C', folder]);
  symlinkSync(join(repositoryRoot, 'node_modules'), join(folder, 'package', 'node_modules'));
  chmodSync(folder, 0o755);
  const released = JSON.parse(readFileSync(join(folder, 'package', 'package.json'), 'utf8'));
  return { folder: join(folder, 'package'), released, listing };
}

test('the tarball can be read by everyone, has exact versions, and runs read-only as another user', async () => {
  const { folder, released, listing } = unpack();
  const files = listing.trimEnd().split('\n');
  expect(files.filter((line) => !line.startsWith('-rw-r--r--'))).toEqual([]);
  expect(released.version).toBe(packageFile.version);
  expect(released.bin.wattline).toBe('dist/src/cli.js');
  const shrinkwrap = JSON.parse(readFileSync(join(folder, 'npm-shrinkwrap.json'), 'utf8'));
  expect(shrinkwrap.packages[''].dependencies).toEqual(released.dependencies);
  expect(Object.keys(released.dependencies).toSorted()).toEqual(
    [...Object.keys(packageFile.dependencies), 'node'].toSorted(),
  );
  const { version } = lockFile.packages['node_modules/node'];
  expect(shrinkwrap.packages['node_modules/node']).toMatchObject({ version, integrity: expect.any(String) });
  expect(shrinkwrap.packages['node_modules/typescript']).toBeUndefined();
  expect(Object.values<{ dev?: boolean }>(shrinkwrap.packages).filter(({ dev }) => dev)).toEqual([]);

  const cwd = tempDir();
  const port = await freePort();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ http: { port }, workgroups: PROVED_WORKGROUPS }));
  const program = [...preparePlace(cwd), process.execPath, join(folder, 'dist/src/cli.js')];
  const environment = { PATH: process.env.PATH!, TMPDIR: join(cwd, 'tmp') };
  const url = `http://127.0.0.1:${port}`;
  const service = startInstalled(url, [...program, 'up'], { cwd, environment });
  await service.untilReady();
  const [command, ...args] = [...program, 'token', 'create', 'me', '-w', 'home', '--json'];
  const permissions = ['--permission', 'search:read', '--permission', 'data:write'];
  const made = execFileSync(command!, [...args, ...permissions], { cwd, env: environment, encoding: 'utf8' });
  await proveService(url, JSON.parse(made).token);
  expect(await service.stop(), service.errorText()).toBe(0);
  expect(readdirSync(cwd).toSorted()).toEqual(['data', 'tmp', 'wattline.yaml']);
  expect(readdirSync(join(cwd, 'tmp'))).toEqual([]);
});
