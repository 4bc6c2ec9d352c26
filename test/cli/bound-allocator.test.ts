import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { createUpProcess } from '../support/up-process.ts';

const isLinux = process.platform === 'linux';

/** The arenas of a running service. */
async function arenasOf(environment: Record<string, string>): Promise<string | undefined> {
  const cwd = tempDir();
  const service = await createUpProcess(cwd, { workgroups: [{ id: 'home' }] }, 'stream', environment);
  onTestFinished(async () => void (await service.stop()));
  await service.start();
  const variables = readFileSync(`/proc/${service.processId}/environ`, 'utf8').split('\0');
  return variables.find((one) => one.startsWith('MALLOC_ARENA_MAX='))?.split('=')[1];
}

test.runIf(isLinux)('a service has few arenas, unless the environment says how many', async () => {
  expect(await arenasOf({})).toBe('2');
  expect(await arenasOf({ MALLOC_ARENA_MAX: '7' })).toBe('7');
});
