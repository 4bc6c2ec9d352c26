import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';
import { REPORT_ROUTES_PREFIX } from './http-errors.ts';

const settings = {
  encodings: ['zstd', 'gzip'] as Array<'zstd' | 'gzip'>,
  // Parquet is compressed already.
  customTypes: /^(?:application\/(?:json|x-ndjson)|text\/csv)\b/,
  threshold: 1024,
};

/**
 * Compresses the answers of reports with zstd or gzip if the caller accepts it. The stream is not compressed,
 * because its readers want messages at once. Bodies of requests are not decompressed. To be called before
 * routes are added.
 */
export async function compressAnswers(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith(REPORT_ROUTES_PREFIX)) route.compress = settings;
  });
  await app.register(compress, { global: false });
}
