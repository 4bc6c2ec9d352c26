import { AwsV4Signer } from 'aws4fetch';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { MEBIBYTE } from '../../src/lib/units.ts';
import { readListAnswer } from '../../src/storage/list-answer.ts';
import { probeStore } from '../../src/storage/probe-store.ts';
import { s3Failure, unreachable } from '../../src/storage/s3-failure.ts';
import { createS3Store, type S3Settings } from '../../src/storage/s3-store.ts';
import { objectUrl, signS3 } from '../../src/storage/sign-s3.ts';
import { startS3Server } from '../exports/s3-server.ts';
import { startLossyProxy } from '../support/lossy-proxy.ts';
import { createBucket, s3ForTests, s3Missing } from '../support/s3-for-tests.ts';

afterEach(() => void vi.useRealTimers());

const failureOf = (settings: S3Settings) =>
  probeStore(createS3Store(settings)).then(
    () => undefined,
    (error: Error & { code: string }) => error,
  );

describe.skipIf(s3Missing)('each cause of a failure is named, with what to do', () => {
  test('a wrong secret', async () => {
    const settings = await s3ForTests();
    const error = await failureOf({ ...settings, secretAccessKey: 'a-wrong-secret' });
    expect(error).toMatchObject({ code: 'StorageKeysWrong', retryable: false });
    expect(error?.message).toContain('secretAccessKey is wrong');
    expect(JSON.stringify(error) + error?.message).not.toContain('a-wrong-secret');
  });

  test('an unknown key', async () => {
    const error = await failureOf({ ...(await s3ForTests()), accessKeyId: 'NOBODY' });
    expect(error).toMatchObject({ code: 'StorageKeysWrong' });
    expect(error?.message).toContain('does not know this accessKeyId');
  });

  test('a bucket that does not exist', async () => {
    const settings = { ...(await s3ForTests()), bucket: 'no-such-bucket' };
    expect(await failureOf(settings)).toMatchObject({ code: 'StorageBucketMissing' });
    const store = createS3Store(settings);
    await expect(store.get('a')).rejects.toMatchObject({ code: 'StorageBucketMissing' });
    await expect(store.remove('a')).rejects.toMatchObject({ code: 'StorageBucketMissing' });
    await expect(store.list('').next()).rejects.toMatchObject({ code: 'StorageBucketMissing' });
  });

  test('a clock that is an hour wrong', async () => {
    const settings = await s3ForTests();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    const error = await failureOf(settings);
    expect(error).toMatchObject({ code: 'StorageClockSkewed' });
    expect(error?.message).toContain('set the clock');
  });

  test.each([
    ['s3:ListBucket', 'list'],
    ['s3:DeleteObject', 'delete'],
    ['s3:GetObject', 'get'],
    ['s3:PutObject', 'create'],
  ])('a key without %s', async (permission, action) => {
    const settings = { ...(await s3ForTests()), bucket: `without-${permission.slice(3).toLowerCase()}` };
    await createBucket(settings);
    await deny(settings, permission);
    const error = await failureOf(settings);
    expect(error).toMatchObject({ code: 'StorageForbidden', details: { action } });
    expect(error?.message).toContain(`it needs ${permission}`);
  });

  test('a store that hangs', async () => {
    const settings = await s3ForTests();
    const endpoint = await startLossyProxy(settings.endpoint, () => 'hang');
    const error = await failureOf({ ...settings, endpoint, timeouts: { silenceMs: 100, requestMs: 300 } });
    expect(error).toMatchObject({ code: 'StorageUnreachable', retryable: true });
  });
});

test('a request may take longer for each MiB that it sends or reads, up to the longest timer', async () => {
  const server = await startS3Server(keys);
  const timeouts = { requestMs: 60_000, mebibyteMs: 1_000 };
  const store = createS3Store({ ...bucket(server.url), timeouts });
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  onTestFinished(() => void timeout.mockRestore());
  await store.put('a', { bytes: Buffer.alloc(MEBIBYTE + 1) });
  await store.get('a', { bytesMax: 3 * MEBIBYTE });
  await store.download('none', '/none', { bytes: 2 ** 50, sha256: '' });
  await store.remove('a');
  expect(timeout.mock.calls).toEqual([[62_000], [63_000], [2 ** 31 - 1], [60_000]]);
});

test('nobody at the address', async () => {
  const settings = { ...bucket('http://127.0.0.1:1'), bucket: 'b' };
  const error = await failureOf(settings);
  expect(error).toMatchObject({ code: 'StorageUnreachable', retryable: true });
  expect(error?.message).toMatch(
    /^s3:\/\/b\/p: 127\.0\.0\.1:1 does not answer \(ECONNREFUSED\); check the endpoint/,
  );
});

test('a store that ignores conditions is refused with what is missing', async () => {
  const server = await startS3Server(keys);
  const error = await failureOf(bucket(server.url));
  expect(error).toMatchObject({ code: 'StorageUnsuitable', retryable: false });
  expect(error?.message).toContain('ignores "If-None-Match: *"');
  expect(server.objects.size).toBe(0);
});

test.each([
  [400, 'StorageRefused', false],
  [403, 'StorageForbidden', false],
  [307, 'StorageRegionWrong', false],
  [408, 'StorageBusy', true],
  [409, 'StorageBusy', true],
  [429, 'StorageBusy', true],
  [503, 'StorageBusy', true],
])('HTTP %i without a code is %s, and may succeed later: %s', (status, code, retryable) => {
  expect(s3Failure('s3://energy', 'put', { status, text: '' })).toMatchObject({ code, retryable });
});

test('a wrong region is named with the right one', async () => {
  const server = await startS3Server({ ...keys, region: 'eu-west-1' });
  server.refuseWith(
    400,
    '<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>',
  );
  const error = await failureOf(bucket(server.url));
  expect(error).toMatchObject({ code: 'StorageRegionWrong' });
  expect(error?.message).toContain('set region to eu-west-1');
});

test('the bucket is in the path or in the name of the host, and the session token is signed', async () => {
  const at = (addressing: 'path' | 'virtual-host') =>
    objectUrl({ endpoint: 'https://s3.example.com:9000/base/', bucket: 'b', addressing }, 'a=1/%2F+ü');
  expect(at('path')).toBe('https://s3.example.com:9000/base/b/a%3D1/%252F%2B%C3%BC');
  expect(at('virtual-host')).toBe('https://b.s3.example.com:9000/base/a%3D1/%252F%2B%C3%BC');
  const request = { method: 'GET', url: 'https://b.example.com/a', headers: {} };
  const { headers } = await signS3({ ...keys, sessionToken: 'a-session' }, request);
  expect(headers['x-amz-security-token']).toBe('a-session');
  expect(headers.authorization).toContain('x-amz-security-token');
});

test.each(['', '<html>Sign in to the network</html>'])(
  'nothing is stored or read if something else answers 200 in place of the store: "%s"',
  async (text) => {
    const server = await startS3Server(keys);
    server.refuseWith(200, text);
    const store = createS3Store(bucket(server.url));
    const bytes = Buffer.from('a');
    const requests = [
      () => store.put('a', { bytes }),
      () => store.createKey('a', bytes),
      () => store.get('a'),
    ];
    for (const request of requests)
      await expect(request()).rejects.toMatchObject({
        code: 'StorageUnreachable',
        retryable: true,
        message: expect.stringMatching(/has no ETag, so it is not from an S3 server/),
      });
  },
);

test('an answer that is not a complete list is refused', () => {
  const entry =
    '<Contents><Key>a</Key><Size>1</Size><LastModified>2026-11-22T10:00:00Z</LastModified></Contents>';
  const whole = (inner: string) =>
    `<?xml version="1.0"?><ListBucketResult xmlns="x">${inner}</ListBucketResult>`;
  const read = (text: string) => readListAnswer(text, 's3://b');
  expect(read(whole(`<IsTruncated>false</IsTruncated>${entry}`)).objects).toEqual([
    { key: 'a', bytes: 1, modifiedAtMs: Date.UTC(2026, 10, 22, 10) },
  ]);
  expect(
    read(whole(`<IsTruncated>true</IsTruncated>${entry.replace('>a<', '>a&amp;b&#x21;<')}`)).objects[0]?.key,
  ).toBe('a&b!');
  const encoded = `<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>`;
  const keyOf = (text: string) => read(whole(encoded + entry.replace('>a<', `>${text}<`))).objects[0]?.key;
  expect(keyOf('a+b%2Fc%2B')).toBe('a b/c+');
  const asItIs = whole(`<IsTruncated>false</IsTruncated>${entry.replace('>a<', '>a+b%2F<')}`);
  expect(read(asItIs).objects[0]?.key).toBe('a+b%2F');
  expect(read(`\uFEFF${whole('<IsTruncated>false</IsTruncated><KeyCount>0</KeyCount>')}`).objects).toEqual(
    [],
  );
  expect(() => keyOf('%zz')).toThrow(/a key that is not encoded as asked/);
  for (const text of [
    '',
    '<html></html>',
    whole(entry),
    whole(`<IsTruncated>maybe</IsTruncated>${entry}`),
    whole(`<IsTruncated>false</IsTruncated>${entry.replace('>1<', '>-1<')}`),
    whole(`<IsTruncated>false</IsTruncated>${entry.replace(/<LastModified>.*<\/LastModified>/, '')}`),
    whole('<IsTruncated>true</IsTruncated>'),
    whole(`<IsTruncated>false</IsTruncated><KeyCount>2</KeyCount>${entry}`),
    whole('<IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents>'),
    whole('<IsTruncated>false</IsTruncated><Contents><Key>a</Key>'),
    whole(`<IsTruncated>false</IsTruncated>${entry}`).slice(0, -5),
  ])
    expect(() => read(text), text).toThrow(/not that of S3/);
});

/** The answer to a list, with these keys. */
const listAnswer = (isTruncated: boolean, keys: readonly string[]) => {
  const entries = keys.map(
    (key) =>
      `<Contents><Key>${key}</Key><Size>1</Size><LastModified>2026-11-22T10:00:00Z</LastModified></Contents>`,
  );
  return `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${entries.join('')}</ListBucketResult>`;
};

test.each([
  ['an object without the prefix', ['q/b']],
  ['keys in another order', ['p/c', 'p/b']],
  ['a key twice', ['p/b', 'p/b']],
  ['the key after which it was asked', ['p/a']],
])('a store that lists %s is refused', async (_, listed) => {
  const server = await startS3Server(keys);
  server.refuseWith(200, listAnswer(false, listed));
  const list = createS3Store(bucket(server.url)).list('', { startAfter: 'a' });
  await expect(Array.fromAsync(list)).rejects.toMatchObject({
    code: 'StorageUnsuitable',
    message: expect.stringContaining('does not list keys in their order'),
  });
});

test('a list ends after the keys that were asked for, without another request', async () => {
  const server = await startS3Server(keys);
  server.refuseWith(200, listAnswer(true, ['p/b', 'p/c']));
  const list = createS3Store(bucket(server.url)).list('', { keysMax: 2 });
  expect((await Array.fromAsync(list)).map(({ key }) => key)).toEqual(['b', 'c']);
  expect(server.requests).toHaveLength(1);
});

test.each<[error: Error, why: string, advice: string]>([
  [
    new TypeError('fetch failed', { cause: Object.assign(new Error('it'), { code: 'ECONNREFUSED' }) }),
    'ECONNREFUSED',
    'check the endpoint and the network',
  ],
  [
    Object.assign(new Error('other side closed', { cause: new Error('inner') }), { code: 'UND_ERR_SOCKET' }),
    'UND_ERR_SOCKET',
    'check the endpoint and the network',
  ],
  [new Error('it hangs'), 'it hangs', 'check the endpoint and the network'],
  [
    Object.assign(new Error('it'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' }),
    'SELF_SIGNED_CERT_IN_CHAIN',
    'its certificate is not trusted: set NODE_EXTRA_CA_CERTS to the file of its authority',
  ],
  [
    Object.assign(new Error('it'), { code: 'ENOTFOUND' }),
    'ENOTFOUND',
    'its name is not known: check the endpoint',
  ],
  [
    Object.assign(new Error('it'), { code: 'EAI_AGAIN' }),
    'EAI_AGAIN',
    'its name is not known: check the endpoint',
  ],
])('a store without an answer is named, with why and what to do: %s', (error, why, advice) => {
  expect(unreachable('s3://b/p', 'https://store.example:9000/path', error)).toMatchObject({
    code: 'StorageUnreachable',
    message: `s3://b/p: store.example:9000 does not answer (${why}); ${advice}`,
    details: { store: 's3://b/p', why },
  });
});

const keys = { accessKeyId: 'KEY', secretAccessKey: 'a-secret', region: 'us-east-1' };

function bucket(endpoint: string): S3Settings {
  return { ...keys, endpoint, bucket: 'b', prefix: 'p/', addressing: 'path' };
}

/** Takes a permission away from everybody. */
async function deny(settings: S3Settings, permission: string): Promise<void> {
  const Resource = [`arn:aws:s3:::${settings.bucket}`, `arn:aws:s3:::${settings.bucket}/*`];
  const statement = { Effect: 'Deny', Principal: '*', Action: permission, Resource };
  const url = `${settings.endpoint}/${settings.bucket}?policy`;
  const body = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const signed = await new AwsV4Signer({ ...settings, method: 'PUT', url, service: 's3', body }).sign();
  const answer = await fetch(signed.url, { method: 'PUT', headers: signed.headers, body });
  if (!answer.ok) throw new Error(`no policy: ${answer.status} ${await answer.text()}`);
}
