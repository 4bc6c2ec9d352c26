import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { requireSharedStorage } from '../../src/service/require-shared-storage.ts';
import { runCli } from '../support/run-cli.ts';
import { tempDir } from '../support/temp-dir.ts';

const redis = { backend: 'redis' as const, redisUrl: 'redis://127.0.0.1:1' };

test('a worker with a shared queue does not start until the data folder is declared as shared', async () => {
  const cwd = tempDir();
  const settings = (shared: boolean) =>
    writeFileSync(
      join(cwd, 'wattline.yaml'),
      `queue: { backend: redis, redisUrl: "${redis.redisUrl}" }\nstorage: { shared: ${shared} }\nworkgroups: [{ id: home }]\n`,
    );
  settings(false);
  for (const role of ['worker', 'up']) {
    const refused = await runCli([role], { cwd });
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('storage.shared: is needed with queue.backend: redis');
    expect(refused.stderr).toContain(join(cwd, 'data'));
    expect(refused.stderr).toContain('storage: { shared: true }');
    expect(refused.stderr).toContain('queue: { backend: pglite }');
  }
  settings(true);
  const allowed = await runCli(['worker'], { cwd });
  expect(allowed.code).toBe(3);
  expect(allowed.stderr).not.toContain('storage.shared');
});

test('other roles and the embedded queue need no shared folder', () => {
  const config = (input: object) => configSchema.parse(input);
  expect(() => requireSharedStorage(config({ queue: redis }), ['stream', 'report'])).not.toThrow();
  expect(() => requireSharedStorage(config({}), ['stream', 'worker', 'report'])).not.toThrow();
  expect(() => requireSharedStorage(config({ queue: redis }), ['worker'])).toThrow('storage.shared');
});
