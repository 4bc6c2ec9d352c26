import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { S3Settings } from '../../src/storage/s3-store.ts';
import { EMPTY_SHA256, signS3 } from '../../src/storage/sign-s3.ts';

/** Headers of the signature, of the connection, and the condition. */
const REMOVED = /^(authorization|host|connection|content-length|if-none-match|x-amz-.*)$/;

/**
 * A proxy in front of a store of S3 that removes the condition of a request and signs it again. So the store
 * behaves like a store that ignores conditions.
 * @returns its address
 */
export async function startUnconditionalProxy(settings: S3Settings): Promise<string> {
  const proxy = createServer(async (request, response) => {
    const kept = Object.entries(request.headers).filter(([name]) => !REMOVED.test(name));
    const signed = await signS3(settings, {
      method: request.method!,
      url: `${settings.endpoint}${request.url}`,
      headers: {
        ...(Object.fromEntries(kept) as Record<string, string>),
        'x-amz-content-sha256': String(request.headers['x-amz-content-sha256'] ?? EMPTY_SHA256),
      },
    });
    const length = request.headers['content-length'];
    const headers = { ...signed.headers, ...(length && { 'content-length': length }) };
    const passed = forward(signed.url, { method: request.method!, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    passed.once('error', () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
