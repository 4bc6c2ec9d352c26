import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hideSecrets } from '../../src/config/hide-secrets.ts';
import { loadConfig } from '../support/load-config.ts';
import { tempDir } from '../support/temp-dir.ts';

const aws = {
  AWS_ACCESS_KEY_ID: 'KEY-OF-AWS',
  AWS_SECRET_ACCESS_KEY: 'secret of aws',
  AWS_SESSION_TOKEN: 'session of aws',
  AWS_REGION: 'eu-west-1',
};

function load(s3: string, environment: Record<string, string> = {}) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), `storage:\n  s3: ${s3}\n`);
  return loadConfig({ cwd, environment }).storage.s3!;
}

test('a bucket takes region and keys from the variables of AWS, and the store of AWS', () => {
  expect(load('{ bucket: energy, prefix: site-a }', aws)).toEqual({
    endpoint: 'https://s3.eu-west-1.amazonaws.com',
    addressing: 'virtual-host',
    region: 'eu-west-1',
    bucket: 'energy',
    prefix: 'site-a/',
    accessKeyId: 'KEY-OF-AWS',
    secretAccessKey: 'secret of aws',
    sessionToken: 'session of aws',
  });
  expect(load('{ bucket: energy }', { ...aws, AWS_ENDPOINT_URL: 'http://127.0.0.1:9000' })).toMatchObject({
    endpoint: 'http://127.0.0.1:9000',
    addressing: 'path',
  });
});

test('keys of the configuration are not mixed with keys of the environment', () => {
  const reference = `$\{MINE}`;
  const own = load(`{ bucket: energy, region: r, accessKeyId: K, secretAccessKey: "${reference}" }`, {
    ...aws,
    MINE: 'my secret',
  });
  expect(own).toMatchObject({ accessKeyId: 'K', secretAccessKey: 'my secret', region: 'r' });
  expect(own).not.toHaveProperty('sessionToken');
  expect(() => load('{ bucket: energy, accessKeyId: K }', aws)).toThrow(/storage\.s3\.secretAccessKey/);
});

test('the bucket of backups takes the same variables', () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), 'backup:\n  s3: { bucket: energy-backup }\n');
  const { backup, storage } = loadConfig({ cwd, environment: aws });
  expect(backup.s3).toMatchObject({ bucket: 'energy-backup', accessKeyId: 'KEY-OF-AWS' });
  expect(storage.s3).toBeUndefined();
});

test('secrets are not shown', () => {
  const shown = JSON.stringify(hideSecrets({ storage: { s3: load('{ bucket: energy }', aws) } }));
  expect(shown).toContain('KEY-OF-AWS');
  expect(shown).not.toMatch(/secret of aws|session of aws/);
});

test('the address of a bucket may have a path, as behind a gateway, but no query and no fragment', () => {
  const loadEndpoint = (endpoint: string) =>
    load(`{ endpoint: "${endpoint}", bucket: energy, region: r, accessKeyId: K, secretAccessKey: secret }`);
  for (const endpoint of [
    'https://s3.example.com',
    'http://10.0.0.1:9000/',
    'https://example.com/gateway/s3/',
  ])
    expect(loadEndpoint(endpoint)).toMatchObject({ endpoint });
  for (const end of ['?x=1', '/s3?x=1', '#x', '/s3#x'])
    expect(() => loadEndpoint(`https://s3.example.com${end}`)).toThrow(
      'storage.s3.endpoint: must be the address of the storage without a query or a fragment, such as "https://s3.eu-west-1.amazonaws.com"',
    );
});

test.each(['region', 'accessKeyId', 'secretAccessKey', 'sessionToken'])(
  'a bucket with an empty %s is refused',
  (name) => {
    const settings = { bucket: 'energy', accessKeyId: 'K', secretAccessKey: 'secret', [name]: '' };
    expect(() => load(JSON.stringify(settings))).toThrow(`storage.s3.${name}: must not be empty`);
  },
);
