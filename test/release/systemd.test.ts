import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compiledFolder } from '../../src/cli/compiled-folder.ts';
import { repositoryRoot } from '../support/readme.ts';
import { tempDir } from '../support/temp-dir.ts';

const unit = readFileSync(join(repositoryRoot, 'ops/systemd/wattline.service'), 'utf8');
const isMissing = spawnSync('systemd-analyze', ['--version']).status !== 0;

test.skipIf(isMissing)('the unit is valid for systemd, and exposes little', () => {
  const file = join(tempDir(), 'wattline.service');
  // The program is not installed on the machine of the test.
  writeFileSync(file, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  expect(verified).toMatchObject({ status: 0, stdout: '', stderr: '' });
  // In tenths: 10 would be 1.0, and 100 is a service without any protection.
  const args = ['security', '--offline=true', '--threshold=20', file];
  execFileSync('systemd-analyze', args, { stdio: ['ignore', 'pipe', 'pipe'] });
});

test('the service keeps compiled code in its folder of caches, which is private', () => {
  const place = tempDir();
  const [, above] = /^Environment=XDG_CACHE_HOME=\/var(\/.+)$/m.exec(unit)!;
  const [, name] = /^CacheDirectory=(.+)$/m.exec(unit)!;
  expect(unit).toMatch(/^CacheDirectoryMode=0700$/m);
  // What systemd makes.
  mkdirSync(join(place, above!, name!), { recursive: true });
  expect(compiledFolder(join(place, above!))).toBe(join(place, above!, name!, 'compiled'));
});

test('a command of the unit runs as the user of the service, on its data, like the service', () => {
  const wrapper = readFileSync(join(repositoryRoot, 'ops/systemd/wattline'), 'utf8');
  const [, program] = /^ExecStart=(.+) up$/m.exec(unit)!;
  expect(wrapper).toContain(`${program} "$@"`);
  for (const name of [
    'DynamicUser',
    'User',
    'StateDirectory',
    'StateDirectoryMode',
    'UMask',
    'EnvironmentFile',
  ])
    expect(wrapper).toContain(`--property=${new RegExp(`^${name}=.*$`, 'm').exec(unit)![0]}`);
  expect(wrapper).toContain(`--setenv=${/^Environment=(.*)$/m.exec(unit)![1]}`);
  expect(spawnSync('sh', ['-n', join(repositoryRoot, 'ops/systemd/wattline')]).status).toBe(0);
});
