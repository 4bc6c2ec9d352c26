import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { localActor } from '../../src/audit/local-actor.ts';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { createConfigLoader } from '../../src/config/config-loader.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { Role } from '../../src/service/hold-roles.ts';
import { createConfigReload } from '../../src/service/reload-config.ts';
import {
  requireSharedStorage,
  sharingProblems,
  sharingWarnings,
} from '../../src/service/require-shared-storage.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const redis = { backend: 'redis' as const, redisUrl: 'redis://127.0.0.1:1' };
const bucket = { bucket: 'energy', accessKeyId: 'key', secretAccessKey: 'secret' };
const upstream = { url: 'https://stream.example.com' };
const all: readonly Role[] = ['stream', 'worker', 'report'];
/** Settings that fit several machines. */
const machines: ConfigInput = {
  queue: redis,
  stream: { log: 'redis' },
  storage: { s3: bucket },
  access: { jwksFile: '/etc/wattline/keys.json' },
  worker: { host: '0.0.0.0' },
  workgroups: [{ id: 'home' }, { id: 'plant', upstream }],
};
const parsed = (more: ConfigInput) => configSchema.parse({ ...machines, ...more });
const problemPaths = (more: ConfigInput, roles = all) =>
  sharingProblems(parsed(more), roles).map(({ path }) => path);
const warningPaths = (more: ConfigInput, roles = all) =>
  sharingWarnings(parsed(more), roles).map(({ path }) => path);

describe('without a bucket', () => {
  test('a worker with a shared queue does not start until the data folder is declared as shared', {
    tags: ['slow'],
  }, async () => {
    const cwd = tempDir();
    const settings = (shared: boolean) =>
      writeFileSync(
        join(cwd, 'wattline.yaml'),
        `queue: { backend: redis, redisUrl: "${redis.redisUrl}" }\nstorage: { shared: ${shared} }\nworkgroups: [{ id: home }]\n`,
      );
    settings(false);
    for (const command of [['worker'], ['up'], ['config', 'check']]) {
      const refused = await runCommand(command, { cwd });
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('storage.shared: is needed with queue.backend: redis');
      expect(refused.stderr).toContain(join(cwd, 'data'));
      expect(refused.stderr).toContain('storage: { shared: true }');
      expect(refused.stderr).toContain('storage: { s3: ... }');
      expect(refused.stderr).toContain('queue: { backend: pglite }');
    }
    // A start would now wait for Redis.
    settings(true);
    expect((await runCommand(['config', 'check'], { cwd })).code).toBe(0);
    const shared = configSchema.parse({ queue: redis, storage: { shared: true } });
    expect(() => requireSharedStorage(shared, ['worker'])).not.toThrow();
  });

  test('other roles and the embedded queue need no shared folder', () => {
    const config = (input: object) => configSchema.parse(input);
    expect(() => requireSharedStorage(config({ queue: redis }), ['stream', 'report'])).not.toThrow();
    expect(() => requireSharedStorage(config({}), all)).not.toThrow();
    expect(() => requireSharedStorage(config({ queue: redis }), ['worker'])).toThrow('storage.shared');
  });
});

describe('with a bucket', () => {
  test('several machines need a stream and keys that all of them have', () => {
    expect(problemPaths({})).toEqual([]);
    expect(problemPaths({ stream: {}, access: {} })).toEqual(['stream.log', 'access.jwksFile']);
    expect(problemPaths({ stream: { log: 'memory' } }, ['stream'])).toEqual(['stream.log']);
    expect(problemPaths({ stream: {}, access: {} }, ['report'])).toEqual(['access.jwksFile']);
    expect(problemPaths({ stream: {}, workgroups: [{ id: 'plant', upstream }] })).toEqual([]);
  });

  test('the problem of the stream names the workgroups without an upstream', () => {
    const workgroups = [{ id: 'plant', upstream }, ...['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }))];
    const [problem] = sharingProblems(parsed({ stream: {}, workgroups }), all);
    expect(problem?.message).toContain('cannot read a stream in lmdb; write stream: { log: redis }');
    expect(problem?.message).toContain('(without one: a, b, c and 2 more)');
  });

  test('a worker that only its own machine reaches is a warning', () => {
    expect(warningPaths({})).toEqual([]);
    expect(warningPaths({ worker: { host: '10.0.0.5' } })).toEqual([]);
    expect(warningPaths({ worker: {} })).toEqual(['worker.host']);
    expect(warningPaths({ worker: { host: '0.0.0.0', address: 'localhost:8090' } })).toEqual([
      'worker.address',
    ]);
    expect(warningPaths({ worker: {} }, ['stream', 'report'])).toEqual([]);
    // Without logs in Redis nobody else moves the audit entries of this machine.
    expect(warningPaths({ stream: {} }, ['report'])).toEqual(['stream.log']);
    expect(warningPaths({ stream: {} }, ['stream', 'report'])).toEqual([]);
  });

  test('a single process, and processes with one data folder, need nothing else', () => {
    const alone = { stream: {}, access: {}, worker: {} };
    for (const more of [
      { ...alone, queue: {} },
      { ...alone, storage: { s3: bucket, shared: true } },
    ]) {
      expect(problemPaths(more)).toEqual([]);
      expect(warningPaths(more)).toEqual([]);
    }
  });

  test('a reload is refused if it adds a workgroup with a stream that no other machine can read', async () => {
    const cwd = tempDir();
    const added = join(cwd, 'workgroups.d', 'home.yaml');
    mkdirSync(dirname(added));
    writeFileSync(
      join(cwd, 'wattline.yaml'),
      `queue: { backend: redis, redisUrl: "${redis.redisUrl}" }\nstorage: { s3: { bucket: energy, accessKeyId: k, secretAccessKey: s } }\naccess: { jwksFile: keys.json }\nworkgroups: [{ id: plant, upstream: { url: "https://stream.example.com" } }]\n`,
    );
    const loader = createConfigLoader({ cwd, environment: {} });
    const loaded = loader.load();
    const workgroups = createWorkgroups(loaded);
    const audit = createAudit({ dataDir: cwd, actor: localActor(), clock: systemClock });
    const { reload } = createConfigReload({
      source: { loader, loaded },
      roles: all,
      workgroups,
      audit,
      clock: systemClock,
      logger: silentLogger,
    });
    writeFileSync(added, 'id: home\n');
    await expect(reload()).rejects.toThrow('stream.log: must be redis');
    expect(workgroups.get('home')).toBeUndefined();
    writeFileSync(added, 'id: home\nupstream: { url: "https://stream.example.com" }\n');
    expect(await reload()).toMatchObject({ added: ['home'] });
  });

  test('commits that are too rare for the retention of the stream are refused', () => {
    const problemsOf = (commitEvery: string, s3?: typeof bucket) =>
      configSchema
        .safeParse({ storage: { ...(s3 && { s3 }), commitEvery } })
        .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    expect(problemsOf('15m', bucket)).toBeUndefined();
    expect(problemsOf('16m')).toBeUndefined();
    expect(problemsOf('16m', bucket)).toEqual([
      'storage.commitEvery: must be at most a quarter of stream.retention (1h), because after the loss of a machine only the stream has the messages since the last commit; write 15m or less, or a longer stream.retention',
    ]);
  });

  test('the start and the check of the configuration print the same problems, all at once', {
    tags: ['slow'],
  }, async () => {
    const cwd = tempDir();
    const file = join(cwd, 'wattline.yaml');
    const settings = `queue: { backend: redis, redisUrl: "${redis.redisUrl}" }\nstorage: { s3: { bucket: energy, accessKeyId: k, secretAccessKey: hidden-secret } }\nworkgroups: [{ id: home }]\n`;
    writeFileSync(file, settings);
    const [start, check] = await Promise.all([
      runCli(['up'], { cwd }),
      runCommand(['config', 'check'], { cwd }),
    ]);
    expect(start).toMatchObject({ code: 2, stdout: '' });
    expect(check).toEqual(start);
    expect(start.stderr).toContain('stream.log: must be redis');
    expect(start.stderr).toContain('access.jwksFile: is needed');
    expect(start.stderr).not.toContain('hidden-secret');

    writeFileSync(file, `${settings}stream: { log: redis }\naccess: { jwksFile: keys.json }\n`);
    const warned = await runCommand(['config', 'check'], { cwd });
    expect(warned.code).toBe(0);
    expect(warned.stderr).toContain('worker.host: other machines cannot call this worker at 127.0.0.1');
  });
});
