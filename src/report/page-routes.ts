import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { rejectOtherMethods } from '../http/http-server.ts';
import { keepFile, sendKeptFile } from '../http/kept-file.ts';
import { openOnce } from '../lib/open-once.ts';
import { packageFolder } from '../lib/package-folder.ts';

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

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const INDEX = 'index.html';

/**
 * Serves the web page at `/`. Without the built page, `/` leads to the page of the API.
 * @param folder the built page; undefined if this process serves no reports
 */
export async function registerPage(app: FastifyInstance, folder: string | undefined): Promise<void> {
  if (folder === undefined || !existsSync(join(folder, INDEX))) {
    app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'));
    return;
  }
  // One route for each file, so no other file can be read.
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = types[extname(path)];
    if (type === undefined) continue;
    const file = openOnce(async () =>
      keepFile(await readFile(join(folder, path)), {
        'Content-Type': type,
        'Cache-Control': path.includes('assets') ? KEPT : 'no-cache',
        'Content-Security-Policy': POLICY,
        'Referrer-Policy': 'no-referrer',
      }),
    );
    // Files need no token, and they are few.
    for (const url of path === INDEX ? ['/', `/${INDEX}`] : [`/${path}`])
      app.get(url, { config: { rateLimited: false }, schema: { hide: true } }, async (request, reply) =>
        sendKeptFile(request, reply, await file.get()),
      );
  }
  rejectOtherMethods(app, '/', ['GET']);
}

/** The folder of the built page; undefined if it is not built. */
export function pageFolder(): string | undefined {
  const folder = join(packageFolder, 'dist-web');
  return existsSync(join(folder, 'index.html')) ? folder : undefined;
}
