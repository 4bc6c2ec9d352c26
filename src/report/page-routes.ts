import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { rejectOtherMethods } from '../http/http-server.ts';

/** The page loads scripts, styles and data from its own host only. Inline scripts and styles are refused. */
const POLICY = Object.entries({
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
  'trusted-types': "'none'",
})
  .map(([name, value]) => `${name} ${value}`)
  .join('; ');

/** The names of files in `assets` contain a hash of their content. */
const KEPT = 'public, max-age=31536000, immutable';

/**
 * Serves the web page at `/`. Without the built page, `/` leads to the page of the API.
 * @param folder the built page; undefined if this process serves no reports
 */
export async function registerPage(app: FastifyInstance, folder: string | undefined): Promise<void> {
  if (folder === undefined || !existsSync(join(folder, 'index.html'))) {
    app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'));
    return;
  }
  const { default: fastifyStatic } = await import('@fastify/static');
  await app.register(async (inner) => {
    inner.addHook('onRoute', (route) => {
      // Files need no token, and they are few.
      route.config = { ...route.config, rateLimited: false };
    });
    await inner.register(fastifyStatic, {
      root: folder,
      // One route for each file, so no other file can be read.
      wildcard: false,
      globIgnore: ['**/*.gz', '**/.*'],
      preCompressed: true,
      cacheControl: false,
      setHeaders(reply, path) {
        reply.header('Cache-Control', path.includes('assets') ? KEPT : 'no-cache');
        reply.header('Content-Security-Policy', POLICY);
        reply.header('Referrer-Policy', 'no-referrer');
      },
    });
  });
  rejectOtherMethods(app, '/', ['GET']);
}

/** The folder of the built page in this package, for `src` and for `dist/src`; undefined if it is not built. */
export function pageFolder(): string | undefined {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    const folder = join(at, 'dist-web');
    if (existsSync(join(folder, 'index.html'))) return folder;
    if (dirname(at) === at) return undefined;
  }
}
