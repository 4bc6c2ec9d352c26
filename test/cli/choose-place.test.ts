import { join } from 'node:path';
import { expect, test } from 'vitest';
import { choosePlace } from '../../src/cli/backup/choose-place.ts';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { tempDir } from '../support/temp-dir.ts';
import { terminalOf } from './terminal-of.ts';

const aws = { AWS_ACCESS_KEY_ID: 'K', AWS_SECRET_ACCESS_KEY: 'S' };
const s3 = { bucket: 'own', prefix: 'site', accessKeyId: 'K', secretAccessKey: 'S' };

/** The place of a backup, with the addresses of its stores. */
function placeOf(text?: string, settings: ConfigInput = {}, environment: Record<string, string> = {}) {
  const { terminal } = terminalOf({ isInteractive: false });
  const { name, of, state } = choosePlace(
    configSchema.parse(settings),
    { ...terminal, cwd: '/work', environment },
    text,
  );
  return [name, of('home').address, state.address];
}

test('a folder starts at the working folder, and has a folder for each workgroup and one for the state', () => {
  const folder = tempDir();
  expect(placeOf(`${folder}/`)).toEqual([folder, join(folder, 'home'), join(folder, 'service.state')]);
  expect(placeOf('backups')[0]).toBe('/work/backups');
  expect(placeOf('/')[0]).toBe('/');
});

test('without a place it is the bucket of backups, and never that of the data', () => {
  expect(placeOf(undefined, { backup: { s3 } })[0]).toBe('s3://own/site');
  expect(() => placeOf(undefined, { storage: { s3 } })).toThrow('is missing: name a folder or s3://bucket');
});

test('a named bucket is opened with the keys of the bucket of backups, of the data, or of the environment', () => {
  for (const [settings, environment] of [
    [{ backup: { s3 } }, {}],
    [{ storage: { s3 } }, {}],
    [{}, aws],
  ] as const)
    expect(placeOf('s3://other/a/b', settings, environment)[0]).toBe('s3://other/a/b');
  expect(placeOf('s3://other', {}, aws)[0]).toBe('s3://other');
  expect(() => placeOf('s3://other')).toThrow(/the access to s3:\/\/other \(set AWS_ACCESS_KEY_ID/);
});
