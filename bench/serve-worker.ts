import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { createAccess } from '../src/access/access.ts';
import { createHttpServer } from '../src/http/http-server.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { systemClock } from '../src/lib/time.ts';
import { startSystemTimer } from '../src/lib/timer.ts';
import { registerStreamRoutes } from '../src/stream/rest/stream-routes.ts';
import { createStream } from '../src/stream/stream.ts';
import { type BenchLog, openBenchLog } from './logs.ts';
import { telemetryBodies } from './telemetry-bodies.ts';

/**
 * The service and, next to it, a bare `node:http` server that sends a ready buffer of the same size. They
 * have a thread of their own, so that they do not share the thread of the client which measures them.
 */
const dataDir = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
const retentionMs = 3_600_000;
const opened = await openBenchLog(workerData as BenchLog, dataDir);
const stream = createStream({
  openLog: () => opened.log,
  retentionMs,
  clock: systemClock,
  startTimer: startSystemTimer,
  logger: silentLogger,
});
const access = await createAccess({ dataDir, issuer: 'bench', clock: systemClock });
const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000_000 });
const { batch } = telemetryBodies(1, 10_000)[0]!;
const devices = [...new Set(batch.devices)].filter((device) => device !== null);
const groups = { half: devices.filter((_, index) => index % 2 === 0) };
registerStreamRoutes(app, { stream, access, groupsOf: () => groups });
await app.listen({ host: '127.0.0.1', port: 0 });

const log = await stream.logOf('bench');
await log.append(batch);
const { bytes } = batch;
const bare = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/cbor', 'Content-Length': bytes.length });
  response.end(bytes);
});
await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));

const issue = async (restriction: { deviceGroups?: string[] }) => {
  const scope = { permissions: ['search:read' as const, 'data:write' as const], ...restriction };
  return (await access.issue({ subject: 'bench', scopes: { bench: scope }, lifetimeMs: 3_600_000 })).token;
};
const origin = ({ port }: AddressInfo) => `http://127.0.0.1:${port}`;
parentPort!.postMessage({
  service: origin(app.server.address() as AddressInfo),
  bare: origin(bare.address() as AddressInfo),
  token: await issue({}),
  restrictedToken: await issue({ deviceGroups: ['half'] }),
  bytes: bytes.length,
});
parentPort!.once('message', async () => {
  await stream.close();
  await opened.close();
  await app.close();
  bare.closeAllConnections();
  bare.close();
  rmSync(dataDir, { recursive: true });
});
