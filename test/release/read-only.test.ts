import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { freePort } from '../support/free-port.ts';
import { cliFile, nodeOptions } from '../support/process-environment.ts';
import { tempDir } from '../support/temp-dir.ts';
import { PROVED_WORKGROUPS, proveService, startInstalled } from './installed-program.ts';
import { preparePlace } from './prepare-place.ts';

test('the program runs as another user in a read-only file system, and writes only into its data folder', async () => {
  const cwd = tempDir();
  const port = await freePort();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ http: { port }, workgroups: PROVED_WORKGROUPS }));
  const program = [...preparePlace(cwd), process.execPath, ...nodeOptions, cliFile];
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
