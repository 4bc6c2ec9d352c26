import { openLossyProxy } from './open-lossy-proxy.ts';

/**
 * A request to a bucket. `key` begins after the prefix of the test or the benchmark. Of a list it is the
 * prefix.
 */
export interface BucketRequest {
  what: 'PUT' | 'GET' | 'DELETE' | 'HEAD' | 'LIST';
  key: string;
  atMs: number;
}

/** A proxy that notes all requests to a bucket, for tests and benchmarks of their number. */
export async function openCountingProxy(
  endpoint: string,
): Promise<{ endpoint: string; requests: BucketRequest[]; close: () => void }> {
  const requests: BucketRequest[] = [];
  const counted = await openLossyProxy(endpoint, ({ method, path }) => {
    const url = new URL(path, 'http://store');
    const isList = url.searchParams.has('list-type');
    const place = isList ? (url.searchParams.get('prefix') ?? '') : url.pathname;
    const key = decodeURIComponent(place).replace(/^.*?(?:run-[0-9a-f]+|live)\//, '');
    const what = isList ? 'LIST' : (method as BucketRequest['what']);
    requests.push({ what, key, atMs: performance.now() });
    return 'pass';
  });
  return { ...counted, requests };
}
