import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { type Access, createAccess } from '../../src/access/access.ts';
import { createHttpServer, type HttpServerOptions } from '../../src/http/http-server.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';

export function setUp(options: Partial<HttpServerOptions> = {}): FastifyInstance {
  const app = createHttpServer({
    logger: silentLogger,
    access,
    requestsPerMinuteMax: 1_000,
    ...options,
  });
  onTestFinished(() => app.close());
  return app;
}

export function recordingLog(events: Array<[string, Record<string, unknown>]>): Logger {
  const record = (fields: Record<string, unknown>, event: string) => {
    events.push([event, fields]);
  };
  return Object.assign(Object.create(silentLogger) as Logger, {
    debug: record,
    info: record,
    warn: record,
    error: record,
  });
}

export let access: Access;

/** Creates the tokens of a test. To be called before each test. */
export async function createTestAccess(): Promise<void> {
  access = await createAccess({ dataDir: tempDir(), issuer: 'wattline', clock: systemClock });
}
