import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';

export interface S3Credentials {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

/** Where the objects of a bucket are. */
export interface S3Bucket {
  endpoint: string;
  bucket: string;
  /** Default: `path`. The bucket is in the path, or in the name of the host. */
  addressing?: 'path' | 'virtual-host' | undefined;
}

export const EMPTY_SHA256 = createHash('sha256').digest('hex');

/** The address of an object, or of the bucket without a key. */
export function objectUrl({ endpoint, bucket, addressing = 'path' }: S3Bucket, key = ''): string {
  const base = new URL(endpoint);
  const path = base.pathname.replace(/\/+$/, '');
  const parts = key === '' ? '' : `/${key.split('/').map(encodeURIComponent).join('/')}`;
  if (addressing === 'virtual-host') base.host = `${bucket}.${base.host}`;
  const bucketPath = addressing === 'path' ? `/${encodeURIComponent(bucket)}` : '';
  return `${base.origin}${path}${bucketPath}${parts || (addressing === 'path' ? '' : '/')}`;
}

/**
 * Signs a request as AWS Signature Version 4. Only the signer of the library is used, because its client
 * repeats requests by itself, and a repeated creation that has succeeded looks like a lost one.
 * @param headers must have `X-Amz-Content-Sha256`
 */
export async function signS3(
  { region, accessKeyId, secretAccessKey, sessionToken }: S3Credentials,
  request: { method: string; url: string; headers: Record<string, string> },
): Promise<{ url: string; headers: Record<string, string> }> {
  const signed = await new AwsV4Signer({
    ...request,
    service: 's3',
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
  }).sign();
  return { url: signed.url.href, headers: Object.fromEntries(signed.headers) };
}
