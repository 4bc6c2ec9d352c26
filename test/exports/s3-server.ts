import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * A bucket server that ignores conditions, and takes only requests that are signed as S3 asks for. It checks
 * the signature with its own code, not with the library.
 */
export interface S3Server {
  url: string;
  /** By `/bucket/key`. */
  objects: Map<string, { bytes: Buffer; headers: Record<string, string> }>;
  requests: string[];
  /** Spoils the next object that is stored: it has other bytes of the same size, or fewer bytes. */
  spoilNext(what: 'content' | 'size'): void;
  /** Answers every request like this from now on, or each with this method. */
  refuseWith(status: number, text: string, method?: string): void;
}

export async function startS3Server(credentials: {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}): Promise<S3Server> {
  const objects: S3Server['objects'] = new Map();
  const requests: string[] = [];
  let spoil: 'content' | 'size' | undefined;
  let refusal: { status: number; text: string; method: string | undefined } | undefined;
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const path = decodeURIComponent(request.url!);
    requests.push(`${request.method} ${path}`);
    const refuse = (status: number, code: string) =>
      response.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
    if (refusal && (refusal.method ?? request.method) === request.method)
      return response.writeHead(refusal.status).end(refusal.text);
    if (!isSigned(request, body, credentials)) return refuse(403, 'SignatureDoesNotMatch');
    if (request.method === 'PUT') {
      const md5 = createHash('md5').update(body).digest('base64');
      if (request.headers['content-md5'] !== md5) return refuse(400, 'BadDigest');
      const bytes = { content: Buffer.alloc(body.length), size: body.subarray(1), undefined: body }[
        `${spoil}`
      ];
      const meta = spoil === 'content' ? sha256(bytes) : String(request.headers['x-amz-meta-sha256']);
      objects.set(path, { bytes, headers: { 'x-amz-meta-sha256': meta } });
      spoil = undefined;
      return response.writeHead(200, { ETag: `"${sha256(bytes)}"` }).end();
    }
    const found = objects.get(path);
    if (!found) return refuse(404, 'NoSuchKey');
    if (request.method === 'DELETE') {
      objects.delete(path);
      return response.writeHead(204).end();
    }
    response.writeHead(200, {
      ...found.headers,
      ETag: `"${sha256(found.bytes)}"`,
      'Content-Length': found.bytes.length,
    });
    response.end(request.method === 'GET' ? found.bytes : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    requests,
    spoilNext: (what) => {
      spoil = what;
    },
    refuseWith: (status, text, method) => {
      refusal = { status, text, method };
    },
  };
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/**
 * AWS Signature Version 4, from its specification: canonical request, string to sign, key derived by date,
 * region and service.
 */
function isSigned(
  { method, url, headers }: IncomingMessage,
  body: Buffer,
  { accessKeyId, secretAccessKey, region }: { accessKeyId: string; secretAccessKey: string; region: string },
): boolean {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (!match) return false;
  const [, key, date, ofRegion, signedHeaders = '', signature] = match;
  if (headers['x-amz-content-sha256'] !== sha256(body)) return false;
  const names = signedHeaders.split(';');
  for (const needed of [
    'host',
    'x-amz-date',
    'x-amz-content-sha256',
    ...(method === 'PUT' ? ['content-md5'] : []),
  ])
    if (!names.includes(needed)) return false;
  const canonical = [
    method,
    url,
    '',
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    headers['x-amz-content-sha256'],
  ].join('\n');
  const scope = `${date}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const hmac = (secret: string | Buffer, data: string) => createHmac('sha256', secret).update(data).digest();
  const signingKey = [region, 's3', 'aws4_request'].reduce<Buffer>(
    hmac,
    hmac(`AWS4${secretAccessKey}`, date!),
  );
  return key === accessKeyId && ofRegion === region && hmac(signingKey, text).toString('hex') === signature;
}
