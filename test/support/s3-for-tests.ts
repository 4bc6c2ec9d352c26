import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AwsV4Signer } from 'aws4fetch';
import { errorCode } from '../../src/lib/errors.ts';
import type { S3Settings } from '../../src/storage/s3-store.ts';
import { type RadosgwAccess, radosgwPackages, startRadosgw } from './radosgw.ts';
import { isFull } from './rounds.ts';
import { until } from './until.ts';

const { env } = process;

/**
 * Why the tests of S3 do not run; undefined if they do. Another store is named by WATTLINE_TEST_S3_ENDPOINT,
 * with WATTLINE_TEST_S3_ACCESS_KEY_ID, WATTLINE_TEST_S3_SECRET_ACCESS_KEY, and WATTLINE_TEST_S3_REGION and
 * WATTLINE_TEST_S3_BUCKET if needed.
 */
export const s3Missing: string | undefined = !isFull
  ? 'only in test:full'
  : env.WATTLINE_TEST_S3_ENDPOINT || radosgwPackages()
    ? undefined
    : 'no S3 server: npm test fetches radosgw on Debian and Ubuntu; or set WATTLINE_TEST_S3_ENDPOINT';

/**
 * A part of a bucket of a real S3 server that no other test uses. All test files of a run share one server.
 */
export async function s3ForTests(): Promise<S3Settings> {
  const access = env.WATTLINE_TEST_S3_ENDPOINT ? givenAccess() : await sharedServer();
  const settings: S3Settings = {
    ...access,
    region: env.WATTLINE_TEST_S3_REGION ?? 'us-east-1',
    bucket: env.WATTLINE_TEST_S3_BUCKET ?? 'wattline-tests',
    prefix: `run-${randomBytes(8).toString('hex')}/`,
    addressing: 'path',
  };
  if (!env.WATTLINE_TEST_S3_BUCKET) await createBucket(settings);
  return settings;
}

/** Creates a bucket. An existing bucket of the same owner is fine. */
export async function createBucket(settings: S3Settings): Promise<void> {
  const signer = new AwsV4Signer({
    ...settings,
    method: 'PUT',
    url: `${settings.endpoint}/${settings.bucket}`,
    service: 's3',
  });
  const { url, method, headers } = await signer.sign();
  const answer = await fetch(url, { method, headers });
  if (!answer.ok && answer.status !== 409)
    throw new Error(`no bucket: ${answer.status} ${await answer.text()}`);
}

function givenAccess(): RadosgwAccess {
  const named = (name: string) => {
    const value = env[name];
    if (!value) throw new Error(`WATTLINE_TEST_S3_ENDPOINT is set, but ${name} is not`);
    return value;
  };
  return {
    endpoint: named('WATTLINE_TEST_S3_ENDPOINT'),
    accessKeyId: named('WATTLINE_TEST_S3_ACCESS_KEY_ID'),
    secretAccessKey: named('WATTLINE_TEST_S3_SECRET_ACCESS_KEY'),
  };
}

/** The first caller of a run starts the server. `stop-test-servers.ts` ends it after the run. */
async function sharedServer(): Promise<RadosgwAccess> {
  const folder = join(env.WATTLINE_TEST_RUN!, 'radosgw');
  const note = join(env.WATTLINE_TEST_RUN!, 'radosgw.json');
  const failed = join(env.WATTLINE_TEST_RUN!, 'radosgw.failed');
  mkdirSync(env.WATTLINE_TEST_RUN!, { recursive: true });
  try {
    mkdirSync(folder);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    await until('another test file has started radosgw', () => existsSync(note) || existsSync(failed));
    if (!existsSync(note)) throw new Error(`radosgw did not start: ${readFileSync(failed, 'utf8')}`);
    return JSON.parse(readFileSync(note, 'utf8'));
  }
  try {
    const access = await startRadosgw(radosgwPackages()!, folder);
    writeFileSync(`${note}.draft`, JSON.stringify(access));
    renameSync(`${note}.draft`, note);
    return access;
  } catch (error) {
    writeFileSync(failed, String(error));
    throw error;
  }
}
