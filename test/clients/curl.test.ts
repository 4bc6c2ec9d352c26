import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { type StreamErrorCode, streamErrors } from '../../src/contract/stream-errors.ts';
import { deviceId, telemetryBatch } from '../support/messages.ts';
import { type StreamService, startStreamService } from '../support/stream-service.ts';
import { tempDir } from '../support/temp-dir.ts';

const TABLES = '/api/v1/tables/acme';
const SOLAR = `${TABLES}/solar/latest`;
const MESSAGES = `${TABLES}/solar/messages`;
const JSON_TYPE = ['-H', 'Content-Type: application/json'];
const LARGE_BYTES = 8 * 1024 * 1024 + 1;

interface CurlAnswer {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** Runs curl as a person would, and decodes the saved answer. */
async function curl(service: StreamService, path: string, args: string[]): Promise<CurlAnswer> {
  const folder = tempDir();
  const [head, body] = [join(folder, 'head'), join(folder, 'body')];
  await promisify(execFile)('curl', ['-sS', '-D', head, '-o', body, ...args, `${service.baseUrl}${path}`]);
  // After "100 Continue" a second head follows.
  const lines = readFileSync(head, 'latin1').trim().split('\r\n\r\n').at(-1)!.split('\r\n');
  const headers = lines.slice(1).map((line) => /^([^:]+): *(.*)$/.exec(line)!);
  return {
    status: Number(lines[0]!.split(' ')[1]),
    headers: Object.fromEntries(headers.map(([, name, value]) => [name!.toLowerCase(), value!])),
    body: decodeCbor(readFileSync(body)) as Record<string, unknown>,
  };
}

interface Provocation {
  error: Exclude<StreamErrorCode, 'DuplicateRequest'>;
  path?: string;
  args?: string[];
  /** The permissions of the token; null for no token. */
  permissions?: string[] | null;
  service?: () => Promise<StreamService>;
  headers?: Record<string, unknown>;
  details?: Record<string, unknown>;
}

const provocations: Provocation[] = [
  { error: 'InvalidOffset', path: `${SOLAR}?offset=1,2`, details: { parameter: 'offset' } },
  { error: 'InvalidOffset', path: `${SOLAR}?offset=1&offset=2`, details: { parameter: 'offset' } },
  { error: 'InvalidTimestamp', path: `${SOLAR}?timestamp=noon`, details: { parameter: 'timestamp' } },
  { error: 'InvalidLimit', path: `${SOLAR}?limit=0`, details: { parameter: 'limit' } },
  { error: 'InvalidRequest', path: `${TABLES}/.hidden/latest`, details: { parameter: 'tableName' } },
  {
    error: 'InvalidRequest',
    path: MESSAGES,
    args: [...JSON_TYPE, '-d', `[{"device":"${deviceId(1)}","event_time":1,"data":{}},{"device":"none"}]`],
    details: { items: expect.arrayContaining([expect.objectContaining({ index: 1, field: 'device' })]) },
  },
  { error: 'AuthenticationRequired', permissions: null, headers: { 'www-authenticate': 'Bearer' } },
  {
    error: 'InvalidToken',
    permissions: null,
    args: ['-H', 'Authorization: Bearer none'],
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  },
  {
    error: 'InsufficientScope',
    path: `${TABLES}/audit_logs/latest`,
    permissions: ['search:read'],
    details: { required: ['search:read', 'org:audit'] },
  },
  {
    error: 'WorkgroupForbidden',
    path: '/api/v1/tables/other/solar/latest',
    details: { required: ['search:read'] },
  },
  { error: 'NotFound', path: `${TABLES}/solar` },
  { error: 'MethodNotAllowed', args: ['-X', 'DELETE'], headers: { allow: 'GET, HEAD' } },
  {
    error: 'OffsetExpired',
    path: `${SOLAR}?offset=0`,
    service: async () => {
      const service = await startStreamService({ retentionMs: 1 });
      const log = await service.stream.logOf('acme');
      await log.append(telemetryBatch(2));
      await new Promise((resolve) => setTimeout(resolve, 10));
      return service;
    },
    details: {
      earliestOffset: expect.any(BigInt),
      nextOffset: expect.any(BigInt),
      epoch: expect.any(String),
    },
  },
  { error: 'PayloadTooLarge', path: MESSAGES, args: [...JSON_TYPE, '-d', `[${'1,'.repeat(10_000)}1]`] },
  { error: 'UnsupportedMediaType', path: MESSAGES, args: ['-d', 'x=1'] },
  {
    error: 'OffsetAhead',
    path: `${SOLAR}?offset=18446744073709551615`,
    details: { nextOffset: 0, epoch: expect.any(String) },
  },
  {
    error: 'RateLimited',
    service: async () => {
      const service = await startStreamService({ requestsPerMinuteMax: 1 });
      await service.call(SOLAR, { token: await tokenOf(service) });
      return service;
    },
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  },
  {
    error: 'Internal',
    service: async () => {
      const service = await startStreamService();
      const log = await service.stream.logOf('acme');
      log.countFrom = async () => {
        throw new Error('inner text');
      };
      return service;
    },
    args: ['-H', 'Prefer: wait=0'],
    details: { correlationId: expect.any(String), message: expect.not.stringContaining('inner') },
  },
  {
    error: 'Draining',
    service: async () => {
      const service = await startStreamService();
      service.stream.drain();
      return service;
    },
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  },
  {
    error: 'StorageUnavailable',
    service: () =>
      startStreamService({
        openLog: () => {
          throw new Error('no disk');
        },
      }),
    headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  },
];

/** One token for each service and set of permissions, so that requests count for the same caller. */
const tokens = new WeakMap<StreamService, Map<string, Promise<string>>>();
function tokenOf(service: StreamService, permissions?: string[]): Promise<string> {
  const known = tokens.get(service) ?? new Map<string, Promise<string>>();
  tokens.set(service, known);
  const key = String(permissions);
  const token = known.get(key) ?? service.token(permissions && { permissions });
  known.set(key, token);
  return token;
}

const hasCurl = spawnSync('curl', ['--version'], { stdio: 'ignore' }).status === 0;

beforeAll(() => {
  if (!hasCurl) process.stderr.write('skipped: no curl (apt-get install curl)\n');
});

test.skipIf(!hasCurl).each(provocations)('curl gets the error $error', async (provocation) => {
  const { error, path = SOLAR, args = [], permissions, headers = {}, details = {} } = provocation;
  const service = await (provocation.service ?? startStreamService)();
  const token =
    permissions === null ? [] : ['-H', `Authorization: Bearer ${await tokenOf(service, permissions)}`];
  const answer = await curl(service, path, [...token, ...args]);
  const { status, retryable } = streamErrors[error];
  expect(answer).toMatchObject({
    status,
    headers: {
      'content-type': 'application/cbor',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: { error, status, retryable, message: expect.any(String), ...details },
  });
});

test.skipIf(!hasCurl)('curl learns that its body is too large while it still sends it', async () => {
  const service = await startStreamService();
  const file = join(tempDir(), 'body');
  writeFileSync(file, ' '.repeat(LARGE_BYTES));
  const token = await tokenOf(service);
  for (const expectation of ['Expect:', 'Expect: 100-continue'])
    expect(
      await curl(service, MESSAGES, [
        ...['-H', `Authorization: Bearer ${token}`, '-H', expectation],
        ...JSON_TYPE,
        ...['--data-binary', `@${file}`],
      ]),
    ).toMatchObject({ status: 413, body: { error: 'PayloadTooLarge' } });
});

test('every error that REST has is provoked', () => {
  const provoked = new Set<string>(provocations.map(({ error }) => error));
  expect(Object.keys(streamErrors).filter((error) => !provoked.has(error))).toEqual(['DuplicateRequest']);
});
