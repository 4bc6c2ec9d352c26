import type { ExportConfig } from '../config/export-settings.ts';
import { errorCode, errorMessage, TransientError } from '../lib/errors.ts';
import { createS3Client, drainAnswer } from '../storage/s3-client.ts';
import { s3Failure } from '../storage/s3-failure.ts';
import type { Outgoing } from './outgoing.ts';

type S3 = NonNullable<ExportConfig['destination']['s3']>;

/** Stores an object with one PUT. The storage checks the bytes. Then the size is read back with HEAD. */
export async function deliverToS3(
  s3: S3,
  { path, name, bytes, sha256, contentType }: Outgoing,
  signal: AbortSignal,
): Promise<string> {
  const key = `${s3.prefix}${name}`;
  const place = `s3://${s3.bucket}/${key}`;
  const { ask } = createS3Client(s3, place);
  const headers = { 'Content-Type': contentType, 'X-Amz-Meta-Sha256': sha256 };
  const content = { path, bytes, sha256 };
  const put = await ask({ method: 'PUT', key, headers, content, signal }, drainAnswer);
  if (put.kind === 'refused') throw retried(s3Failure(place, 'put', put));
  const head = await ask({ method: 'HEAD', key, signal }, async (answer) => {
    await drainAnswer(answer);
    return answer.headers;
  });
  if (head.kind === 'refused') throw retried(s3Failure(place, 'get', head));
  const stored = head.result;
  const destinationDiffers = (what: string) =>
    new TransientError(
      'DestinationDiffers',
      `${place} has ${what}; check whether another program writes to it`,
    );
  if (Number(stored['content-length']) !== bytes)
    throw destinationDiffers(`${stored['content-length']} bytes instead of the stored ${bytes}`);
  if ((stored['x-amz-meta-sha256'] ?? sha256) !== sha256)
    throw destinationDiffers('other content than was stored');
  return place;
}

/**
 * Makes a refusal temporary, so that the delivery is tried again. Meanwhile somebody may repair the bucket.
 */
function retried(failure: Error): TransientError {
  return new TransientError(errorCode(failure) ?? 'DestinationRefused', errorMessage(failure), {
    cause: failure,
  });
}
