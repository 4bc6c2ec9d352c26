import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findSecretFiles, findSecrets, readSecrets } from '../../src/config/find-secrets.ts';
import { tempDir } from '../support/temp-dir.ts';

test('the secrets of a configuration are hidden texts, ids of keys, and the parts of addresses', () => {
  const secrets = findSecrets({
    dataDir: './data',
    backup: { s3: { accessKeyId: 'KEY', secretAccessKey: 'S3' } },
    queue: { redisUrl: 'rediss://me%40x:p%40ss@host:1/0' },
    alerts: { channels: [{ webhook: { url: 'https://hooks.example/T/1?a=b' } }] },
    upstream: { url: 'http://100%25:%zz@host' },
    plain: { url: 'https://host/path' },
  });
  expect(secrets).toEqual([
    'KEY',
    'S3',
    'rediss://me%40x:p%40ss@host:1/0',
    'p@ss',
    'me@x',
    'https://hooks.example/T/1?a=b',
    '/T/1?a=b',
    'http://100%25:%zz@host',
    '%zz',
    '100%',
  ]);
});

test('secrets come from all files of a configuration, and from the variables of AWS and Redis', () => {
  const cwd = tempDir();
  mkdirSync(join(cwd, 'more'));
  writeFileSync(join(cwd, 'wattline.yaml'), 'workgroupsDir: more\nmail: { password: { file: a.key } }\n');
  writeFileSync(join(cwd, 'a.key'), 'from a\n');
  writeFileSync(join(cwd, 'more', 'plain.yaml'), `upstream: { token: "$\{TOKEN}" }\n`);
  writeFileSync(join(cwd, 'more', 'home.yaml'), 'upstream: { token: written }\n');
  const environment = {
    TOKEN: 'from the environment',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_SESSION_TOKEN: 'session',
    WATTLINE_REDIS_URL: 'redis://:queue@a',
    WATTLINE_STREAM_REDIS_URL: 'redis://:stream@b',
    OTHER: 'other',
  };
  expect(readSecrets({ cwd, environment })).toEqual([
    'from a',
    'written',
    'from the environment',
    'id',
    'secret',
    'session',
    'redis://:queue@a',
    'queue',
    'redis://:stream@b',
    'stream',
  ]);
  expect(findSecretFiles({ cwd })).toEqual([join(cwd, 'a.key'), join(cwd, 'more', 'home.yaml')]);
});
