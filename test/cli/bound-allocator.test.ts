// @module-tag slow
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { compiledFolder } from '../../src/cli/compiled-folder.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createUpProcess } from '../support/up-process.ts';

const isLinux = process.platform === 'linux';

/** What variables of the environment of a running service say. */
async function variablesOf<Name extends string>(
  environment: Record<Name, string | undefined>,
): Promise<Record<Name, string | undefined>> {
  const service = await createUpProcess(tempDir(), { workgroups: [{ id: 'home' }] }, 'stream', environment);
  onTestFinished(async () => void (await service.stop()));
  await service.start();
  const variables = readFileSync(`/proc/${service.processId}/environ`, 'utf8').split('\0');
  const textOf = (name: string) =>
    variables.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
  const names = Object.keys(environment) as Name[];
  return Object.fromEntries(names.map((name) => [name, textOf(name)])) as Record<Name, string | undefined>;
}

test.runIf(isLinux)(
  'a service has few arenas and large caches of threads, and keeps its compiled code where the environment says',
  async () => {
    const folder = join(tempDir(), 'compiled');
    const unset = { MALLOC_ARENA_MAX: undefined, GLIBC_TUNABLES: undefined };
    expect(await variablesOf({ ...unset, NODE_COMPILE_CACHE: folder })).toEqual({
      MALLOC_ARENA_MAX: '2',
      GLIBC_TUNABLES: 'glibc.malloc.tcache_count=200',
      NODE_COMPILE_CACHE: folder,
    });
  },
);

test.runIf(isLinux)('the environment says how many arenas a service has, and how it is tuned', async () => {
  expect(await variablesOf({ MALLOC_ARENA_MAX: '7' })).toEqual({ MALLOC_ARENA_MAX: '7' });
  const tuned = { MALLOC_ARENA_MAX: undefined, GLIBC_TUNABLES: 'glibc.malloc.tcache_count=9' };
  expect(await variablesOf(tuned)).toEqual({ ...tuned, MALLOC_ARENA_MAX: '2' });
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
