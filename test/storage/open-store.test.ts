import { expect, test } from 'vitest';
import { openStore, parseStoreAddress } from '../../src/storage/open-store.ts';
import { startS3Server } from '../exports/s3-server.ts';

test.each([
  ['/data/backup', { kind: 'folder', path: '/data/backup' }],
  ['backup/s3', { kind: 'folder', path: 'backup/s3' }],
  ['s3://energy', { kind: 's3', bucket: 'energy', prefix: '' }],
  ['s3://energy/', { kind: 's3', bucket: 'energy', prefix: '' }],
  ['s3://energy-backup/site-a', { kind: 's3', bucket: 'energy-backup', prefix: 'site-a/' }],
  ['s3://energy/site-a/', { kind: 's3', bucket: 'energy', prefix: 'site-a/' }],
  ['S3://energy/a/b', { kind: 's3', bucket: 'energy', prefix: 'a/b/' }],
  ['s3://energy/..a', { kind: 's3', bucket: 'energy', prefix: '..a/' }],
])('the place "%s" is understood', (text, address) => {
  expect(parseStoreAddress(text)).toEqual(address);
});

test.each([
  '',
  ' ',
  'gs://energy/a',
  'http://energy/a',
  's3://',
  's3://-energy',
  's3://e',
  's3://energy//a',
  's3://energy/a//b',
  's3://energy/..',
  's3://energy/a/./b',
  's3://energy/../a',
  's3://energy/a%2Fb',
  's3://energy?a',
])('the place "%s" is refused with an example', (text) => {
  expect(() => parseStoreAddress(text)).toThrow(
    expect.objectContaining({ message: expect.stringContaining('such as "s3://energy-backup/site-a"') }),
  );
});

test('a part of a place is a folder below it', async () => {
  const keys = { region: 'r', accessKeyId: 'k', secretAccessKey: 's' };
  const server = await startS3Server(keys);
  const bucket = { ...keys, kind: 's3' as const, endpoint: server.url, bucket: 'energy', prefix: 'a/' };
  expect(openStore(bucket).address).toBe('s3://energy/a');
  const below = openStore(bucket, 'acme');
  expect(below.address).toBe('s3://energy/a/acme');
  await below.put('x', { bytes: Buffer.from('x') });
  expect([...server.objects.keys()]).toEqual(['/energy/a/acme/x']);
  expect(openStore({ kind: 'folder', path: '/data' }).address).toBe('/data');
  expect(openStore({ kind: 'folder', path: '/data' }, 'acme').address).toBe('/data/acme');
});
