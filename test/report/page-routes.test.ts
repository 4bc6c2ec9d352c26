import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { registerPage } from '../../src/report/page-routes.ts';
import { tempDir } from '../support/temp-dir.ts';

const script = `export const text = '${'x'.repeat(2_000)}';\n`;

/** A server with a small built page, and a secret beside it. */
async function serve(pageOf: (folder: string) => string | undefined = (folder) => folder) {
  const dataDir = tempDir();
  const folder = join(dataDir, 'dist-web');
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(dataDir, 'secret.txt'), 'secret');
  writeFileSync(join(folder, '.sources'), 'secret');
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(folder, 'assets', 'index-1a2b.js'), script);
  const access = await createAccess({ dataDir, issuer: 'wattline', clock: systemClock });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 2 });
  await registerPage(app, pageOf(folder));
  onTestFinished(() => app.close());
  return app;
}

describe('the web page', () => {
  test('is served at / with a strict policy, and is asked for again each time', async () => {
    const app = await serve();
    const answer = await app.inject('/');
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(answer.headers['cache-control']).toBe('no-cache');
    expect(answer.headers['referrer-policy']).toBe('no-referrer');
    const again = await app.inject({ url: '/', headers: { 'if-none-match': String(answer.headers.etag) } });
    expect(again.statusCode).toBe(304);
  });

  test('has files that may be kept, compressed if the caller can read that', async () => {
    const app = await serve();
    const plain = await app.inject('/assets/index-1a2b.js');
    expect([plain.statusCode, plain.body]).toEqual([200, script]);
    expect(plain.headers['cache-control']).toContain('immutable');
    const packed = await app.inject({ url: '/assets/index-1a2b.js', headers: { 'accept-encoding': 'gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.rawPayload.length).toBeLessThan(200);
    for (const accepts of ['gzip;q=0', 'br', 'gzip;q=0, *']) {
      const refused = await app.inject({
        url: '/assets/index-1a2b.js',
        headers: { 'accept-encoding': accepts },
      });
      expect([refused.headers['content-encoding'], refused.body]).toEqual([undefined, script]);
    }
    expect((await app.inject({ method: 'HEAD', url: '/assets/index-1a2b.js' })).statusCode).toBe(200);
  });

  test.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/.sources',
    '/assets',
    '/nothing.js',
  ])('serves nothing at %s', async (url) => {
    const answer = await (await serve()).inject(url);
    expect(answer.statusCode).toBe(404);
    expect(answer.body).not.toContain('"secret"');
  });

  test('needs no token and no share of the rate limit', async () => {
    const app = await serve();
    const statuses = [];
    for (let count = 0; count < 5; count++) statuses.push((await app.inject('/')).statusCode);
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
  });

  test('is read only', async () => {
    const answer = await (await serve()).inject({ method: 'POST', url: '/' });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  test.each([
    ['without reports', () => undefined],
    ['if it is not built', (folder: string) => join(folder, 'nowhere')],
  ])('leads to the page of the API %s', async (_, pageOf) => {
    const answer = await (await serve(pageOf)).inject('/');
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/docs']);
  });
});
