import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { compiledFolder } from '../../src/cli/compiled-folder.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createUpProcess } from '../support/up-process.ts';

const isLinux = process.platform === 'linux';

/** What a variable of the environment of a running service says. */
async function variableOf(name: string, environment: Record<string, string>): Promise<string | undefined> {
  const cwd = tempDir();
  const service = await createUpProcess(cwd, { workgroups: [{ id: 'home' }] }, 'stream', environment);
  onTestFinished(async () => void (await service.stop()));
  await service.start();
  const variables = readFileSync(`/proc/${service.processId}/environ`, 'utf8').split('\0');
  return variables.find((one) => one.startsWith(`${name}=`))?.split('=')[1];
}

test.runIf(isLinux)('a service has few arenas, unless the environment says how many', async () => {
  expect(await variableOf('MALLOC_ARENA_MAX', {})).toBe('2');
  expect(await variableOf('MALLOC_ARENA_MAX', { MALLOC_ARENA_MAX: '7' })).toBe('7');
});

test.runIf(isLinux)('a service keeps its compiled code where the environment says', async () => {
  const folder = join(tempDir(), 'compiled');
  expect(await variableOf('NODE_COMPILE_CACHE', { NODE_COMPILE_CACHE: folder })).toBe(folder);
});

test('compiled code is kept in the folder of caches, or else of the user, which only the user can write', () => {
  const home = tempDir();
  const folder = compiledFolder(undefined, home)!;
  expect(folder).toBe(join(home, '.cache', 'wattline', 'compiled'));
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(compiledFolder('', home)).toBe(folder);
  const caches = tempDir();
  expect(compiledFolder(caches, home)).toBe(join(caches, 'wattline', 'compiled'));
});

test('compiled code is not kept if its folder cannot be made', () => {
  const missing = join(tempDir(), 'missing', 'home');
  expect(compiledFolder(undefined, missing)).toBeUndefined();
  expect(existsSync(missing)).toBe(false);
  expect(compiledFolder('/proc')).toBeUndefined();
});
