// @module-tag slow
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { registerOpenApi } from '../../src/report/openapi.ts';
import { registerPage } from '../../src/report/page-routes.ts';
import { tempDir } from '../support/temp-dir.ts';

const MEBIBYTE = 1024 * 1024;
const CALLERS = 40;
const FILE_BYTES = 16 * MEBIBYTE;

/** A server with a page of one large file, and with the page of the API. */
async function serve() {
  const dataDir = tempDir();
  const folder = join(dataDir, 'dist-web');
  mkdirSync(folder);
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(folder, 'large.js'), Buffer.alloc(FILE_BYTES, 'x'));
  const access = await createAccess({ dataDir, issuer: 'wattline', clock: systemClock });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000 });
  registerOpenApi(app, { version: '0' });
  await registerPage(app, folder);
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return (app.server.address() as AddressInfo).port;
}

/** Asks for a file, and reads only one byte of the answer. */
async function ask(port: number, path: string): Promise<void> {
  const begun = Promise.withResolvers<void>();
  const callback = () => {
    begun.resolve();
    return false;
  };
  const connection = connect({ port, host: '127.0.0.1', onread: { buffer: Buffer.alloc(1), callback } });
  onTestFinished(() => void connection.destroy());
  connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await begun.promise;
}

/** Bytes of buffers outside of the heap. */
const buffered = () => process.memoryUsage().arrayBuffers;

/** How often this process has a file open. */
function countOpen(name: string): number {
  const folder = '/proc/self/fd';
  const targetOf = (descriptor: string) => {
    try {
      return readlinkSync(join(folder, descriptor));
    } catch {
      return '';
    }
  };
  return readdirSync(folder).filter((descriptor) => targetOf(descriptor).endsWith(name)).length;
}

test.each(['/large.js', '/docs/static/swagger-ui-bundle.js'])(
  'callers without a token who do not read %s share its bytes, and keep no file open',
  async (path) => {
    const port = await serve();
    await ask(port, path);
    const before = buffered();
    for (let count = 0; count < CALLERS; count++) await ask(port, path);
    // Less than one copy of either file for all callers together.
    expect(buffered() - before).toBeLessThan(MEBIBYTE);
    expect(countOpen(path.slice(path.lastIndexOf('/')))).toBe(0);
  },
);
