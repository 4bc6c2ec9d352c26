import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ExportConfig } from '../config/export-settings.ts';
import { TransientError } from '../lib/errors.ts';
import { s3Code } from '../storage/s3-failure.ts';
import { EMPTY_SHA256, objectUrl, signS3 } from '../storage/sign-s3.ts';
import type { Outgoing } from './outgoing.ts';
import { type SendAnswer, send } from './send-request.ts';

type S3 = NonNullable<ExportConfig['destination']['s3']>;

/** Stores an object with one PUT, whose bytes the storage checks, and reads its size back with HEAD. */
export async function deliverToS3(
  s3: S3,
  { path, name, bytes, sha256, contentType }: Outgoing,
  signal: AbortSignal,
): Promise<string> {
  const key = `${s3.prefix}${name}`;
  const place = `s3://${s3.bucket}/${key}`;
  const url = objectUrl(s3, key);
  const ask = async (method: 'PUT' | 'HEAD', headers: Record<string, string>, bodyPath?: string) => {
    const signed = await signS3(s3, { method, url, headers });
    const length = bodyPath && { 'content-length': String(bytes) };
    const content = bodyPath && { bodyPath };
    return send({ method, url: signed.url, headers: { ...signed.headers, ...length }, ...content }, signal);
  };
  const put = await ask(
    'PUT',
    {
      'Content-Type': contentType,
      'Content-MD5': await md5Of(path),
      'X-Amz-Content-Sha256': sha256,
      'X-Amz-Meta-Sha256': sha256,
    },
    path,
  );
  if (put.status < 200 || put.status > 299) throw refused(place, 'PUT', put);
  const head = await ask('HEAD', { 'X-Amz-Content-Sha256': EMPTY_SHA256 });
  if (head.status !== 200) throw refused(place, 'HEAD', head);
  const storedSha256 = head.headers['x-amz-meta-sha256'] ?? sha256;
  if (Number(head.headers['content-length']) !== bytes || storedSha256 !== sha256)
    throw new TransientError(
      'DestinationDiffers',
      `${place} has ${head.headers['content-length']} bytes instead of the stored ${bytes}; check if another program writes it`,
    );
  return place;
}

function refused(place: string, method: string, { status, text }: SendAnswer): TransientError {
  const code = s3Code(text);
  const said = code ? `HTTP ${status}, ${code}` : `HTTP ${status}`;
  return new TransientError(
    'DestinationRefused',
    `${place}: ${method} is refused with ${said}; ${adviceOn(status)}`,
  );
}

function adviceOn(status: number): string {
  if (status >= 300 && status < 400) return 'the bucket has another address: check endpoint and region';
  if (status === 401 || status === 403)
    return 'check accessKeyId, secretAccessKey, region and the permissions of the key';
  if (status === 404) return 'check endpoint and bucket';
  return 'see the log of the storage';
}

async function md5Of(path: string): Promise<string> {
  const hash = createHash('md5');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('base64');
}
