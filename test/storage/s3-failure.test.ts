import { expect, test } from 'vitest';
import { type S3Action, s3Code, s3Failure } from '../../src/storage/s3-failure.ts';

const xml = (code: string, more = '') => `<?xml version="1.0"?><Error><Code>${code}</Code>${more}</Error>`;

test.each<[code: string, name: string, advice: string]>([
  ['InvalidAccessKeyId', 'StorageKeysWrong', 'the store does not know this accessKeyId'],
  ['SignatureDoesNotMatch', 'StorageKeysWrong', 'the secretAccessKey is wrong'],
  ['InvalidToken', 'StorageKeysWrong', 'the sessionToken is wrong or has expired'],
  ['ExpiredToken', 'StorageKeysWrong', 'the sessionToken is wrong or has expired'],
  ['TokenRefreshRequired', 'StorageKeysWrong', 'the sessionToken is wrong or has expired'],
  ['NoSuchBucket', 'StorageBucketMissing', 'the bucket does not exist: create it'],
  ['PermanentRedirect', 'StorageRegionWrong', 'the bucket is in another region: check region'],
  ['AuthorizationHeaderMalformed', 'StorageRegionWrong', 'the bucket is in another region: check region'],
  [
    'IllegalLocationConstraintException',
    'StorageRegionWrong',
    'the bucket is in another region: check region',
  ],
  ['RequestTimeTooSkewed', 'StorageClockSkewed', 'set the clock'],
  ['RequestExpired', 'StorageClockSkewed', 'set the clock'],
  ['NotImplemented', 'StorageUnsuitable', 'use a store with S3 and If-None-Match on PUT'],
  ['BadDigest', 'ObjectDamaged', 'check the file, then try again'],
  ['XAmzContentSHA256Mismatch', 'ObjectDamaged', 'check the file, then try again'],
  ['EntityTooLarge', 'ObjectTooLarge', 'the store takes no object of this size'],
  ['SomethingNew', 'StorageRefused', 'check endpoint, bucket and prefix'],
])('the code %s is %s, with what to do', (code, name, advice) => {
  const error = s3Failure('s3://b/p', 'put', { status: 400, text: xml(code) });
  expect(error).toMatchObject({
    code: name,
    retryable: false,
    details: { store: 's3://b/p', action: 'put', status: 400, code },
  });
  expect(error.message).toContain(`s3://b/p: put was refused (HTTP 400, ${code}); `);
  expect(error.message).toContain(advice);
});

test('the right region is named if the store knows it', () => {
  const text = xml('PermanentRedirect', '<Region>eu-west-1</Region>');
  expect(s3Failure('s3://b', 'get', { status: 301, text }).message).toContain('set region to eu-west-1');
});

test.each<[action: S3Action, permission: string]>([
  ['create', 's3:PutObject'],
  ['put', 's3:PutObject'],
  ['get', 's3:GetObject, and s3:ListBucket to see that a key is free'],
  ['list', 's3:ListBucket'],
  ['delete', 's3:DeleteObject'],
])('without the permission to %s, it is named', (action, permission) => {
  for (const status of [401, 403])
    expect(s3Failure('s3://b', action, { status, text: '' })).toMatchObject({
      code: 'StorageForbidden',
      message: `s3://b: ${action} was refused (HTTP ${status}); the key has no permission: it needs ${permission}`,
    });
});

test('a code has only letters, digits and underscores', () => {
  expect([s3Code(xml('A_1')), s3Code(xml('a b')), s3Code('')]).toEqual(['A_1', undefined, undefined]);
});
