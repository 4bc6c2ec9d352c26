import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { rules } from '../../src/conformance/all-rules.ts';
import { createProbe } from '../../src/conformance/probe.ts';
import { type Finding, runConformance } from '../../src/conformance/run-conformance.ts';
import type { Target } from '../../src/conformance/target.ts';
import { encodeMessages } from '../../src/contract/encode-messages.ts';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { openLmdbLog } from '../../src/stream/log/lmdb-log.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import { openRedisLog } from '../../src/stream/log/redis/redis-log.ts';
import { deviceId, telemetryBatch } from '../support/messages.ts';
import { startRedis } from '../support/redis.ts';
import { isFull, rounds } from '../support/rounds.ts';
import { type StreamService, startStreamService } from '../support/stream-service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import type { Case } from './breakage.ts';
import {
  accessCases,
  errorCases,
  expiredCase,
  holdCase,
  ingestCases,
  sizeCases,
  waitCases,
} from './breakages.ts';
import { readCases } from './breakages-read.ts';
import { frameCases, heartbeatCase, socketCases } from './breakages-socket.ts';
import { startBreakingProxy } from './breaking-proxy.ts';

async function setUp(options: Parameters<typeof startStreamService>[0] = {}) {
  const service = await startStreamService({ groups: { roof: [deviceId(1)] }, ...options });
  const target: Target = {
    url: service.baseUrl,
    workgroup: 'acme',
    table: undefined,
    token: await service.token(),
    restrictedToken: await service.token({ permissions: ['search:read'], deviceGroups: ['roof'] }),
    foreignWorkgroup: 'other',
    write: true,
    slow: false,
    socketPath: SOCKET_PATH,
  };
  return { service, target };
}

/** Sends states of two devices, so that their table has messages. */
async function tellStatus(service: StreamService): Promise<void> {
  const log = await service.stream.logOf('acme');
  for (const state of ['online', 'offline'] as const)
    await log.append(encodeMessages([{ device: deviceId(9), state, event_time: Date.now() }], 'devices'));
}

async function fill(service: StreamService, count: number): Promise<void> {
  const log = await service.stream.logOf('acme');
  const size = 20_000;
  for (let first = 0; first < count; first += size)
    await log.append(telemetryBatch(size, { first, table: 'busy' }));
}

const server = await startRedis();
const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
afterAll(async () => {
  redis.close();
  await server.stop();
});
const logOptions = { clock: systemClock, retentionMs: HOUR_MS, cacheBytesMax: 64e6, logger: silentLogger };
const logs = [
  ['memory', () => createMemoryLog({ ...logOptions, bytesMax: 256e6 })],
  ['LMDB', () => openLmdbLog({ ...logOptions, path: tempDir() })],
  ['Redis', () => openRedisLog({ ...logOptions, redis, workgroupId: randomUUID() })],
] as const;

const rulesOf = (...starts: string[]) =>
  rules.filter(({ id }) => starts.some((start) => id.startsWith(start)));
const sizes = rulesOf(
  'limit.default',
  'limit.bytes',
  'ingest.items-max',
  'ingest.bytes-max',
  'socket.frame-size',
);
const waits = rulesOf('wait.', 'limit.at-once');
const sockets = rulesOf('socket.');
const others = rulesOf('access.', 'ingest.', 'error.').filter((rule) => !sizes.includes(rule));
const reads = rules.filter((rule) => ![...waits, ...sizes, ...sockets, ...others].includes(rule));

async function findingsOf(target: Target, picked = rules): Promise<Finding[]> {
  const { signal } = new AbortController();
  const probe = createProbe(target, signal);
  try {
    const findings: Finding[] = [];
    for await (const finding of runConformance(picked, probe, signal)) findings.push(finding);
    return findings;
  } finally {
    await probe.close();
  }
}

const withResult = (findings: readonly Finding[], result: Finding['result']) =>
  findings.filter((finding) => finding.result === result).map(({ rule }) => rule.id);

/**
 * The rules that are checked although they do not notice a breakage: the first one. In `test:full` also
 * every eighth one, different ones for each breakage, and in a soak all.
 */
const STEP = isFull ? rounds(8, 1) : Number.POSITIVE_INFINITY;
let breakages = 0;

/** The rules that notice a breakage. */
async function failuresOf(breakage: Case, target: Target, all: typeof rules) {
  breakages += 1;
  const turn = breakages;
  const picked = all.filter(
    ({ id }, at) => breakage.fails.includes(id) || at === 0 || (at + turn) % STEP === 0,
  );
  const proxy = await startBreakingProxy(target.url, breakage);
  try {
    return [
      breakage.name,
      withResult(await findingsOf({ ...target, url: proxy.url }, picked), 'fail'),
    ] as const;
  } finally {
    await proxy.close();
  }
}

const expected = (cases: readonly Case[]) =>
  Object.fromEntries(cases.map(({ name, fails }) => [name, fails]));

describe('our own server', () => {
  test('keeps every rule over REST and socket.io, with any log', { tags: ['slow'] }, async () => {
    const checked = await Promise.all(
      logs.map(async ([name, openLog]) => {
        const { target, service } = await setUp({ openLog });
        // The other tables have more messages than a server scans for one answer.
        if (name === 'memory') await fill(service, 260_000);
        await tellStatus(service);
        const findings = await findingsOf(target);
        return [name, withResult(findings, 'fail'), withResult(findings, 'skip')];
      }),
    );
    const skipped = [
      'offset.expired',
      'limit.default',
      'limit.bytes',
      'wait.hold',
      'ingest.bytes-max',
      'socket.frame-size',
      'socket.heartbeat',
      'error.retry-after',
    ];
    expect(checked).toEqual(logs.map(([name]) => [name, [], skipped]));
  });

  test('keeps the rules that wait for nothing', async () => {
    const { target, service } = await setUp();
    await tellStatus(service);
    const findings = await findingsOf(target, [...reads, ...others]);
    expect(withResult(findings, 'fail')).toEqual([]);
    expect(withResult(findings, 'skip')).toEqual(['offset.expired', 'error.retry-after']);
  });

  test('keeps the limits of its answers', { tags: ['slow'] }, async () => {
    const { target } = await setUp();
    const findings = await findingsOf({ ...target, slow: true }, sizes);
    expect(findings.filter(({ result }) => result !== 'pass')).toEqual([]);
    expect(findings).toHaveLength(sizes.length);
  });

  test('reports expired messages', async () => {
    const { target } = await setUp({ retentionMs: 50 });
    await findingsOf(target, rulesOf('ingest.json'));
    await new Promise((resolve) => setTimeout(resolve, 60));
    const expired = rulesOf('offset.expired');
    expect(withResult(await findingsOf(target, expired), 'pass')).toHaveLength(1);
    expect(await failuresOf(expiredCase, target, expired)).toEqual([expiredCase.name, expiredCase.fails]);
  });

  test('is only read without the right to write', { tags: ['slow'] }, async () => {
    const { target, service } = await setUp();
    const findings = await findingsOf({ ...target, table: 'solar', write: false });
    expect(withResult(findings, 'fail')).toEqual([]);
    expect(withResult(findings, 'pass').length).toBeGreaterThan(15);
    expect((await (await service.stream.logOf('acme')).bounds()).next).toBe(0n);
    const { server: http } = service.app;
    await until(
      'it has no connection any more',
      () => new Promise((resolve) => http.getConnections((_, count) => resolve(count === 0))),
    );
  });
});

describe('a server that is broken in one way', () => {
  const otherCases = (target: Target) => [
    ...accessCases(target.token, target.restrictedToken!),
    ...ingestCases,
    ...errorCases,
  ];

  test('fails exactly the rules on its defect', { tags: ['slow'] }, async () => {
    const { target, service } = await setUp();
    await tellStatus(service);
    const failures: Array<readonly [string, string[]]> = [];
    for (const breakage of readCases) failures.push(await failuresOf(breakage, target, reads));
    expect(Object.fromEntries(failures)).toEqual(expected(readCases));
  });

  test('fails the rules on access, ingest and errors', { tags: ['slow'] }, async () => {
    const { target } = await setUp();
    const cases = otherCases(target);
    const failures: Array<readonly [string, string[]]> = [];
    for (const breakage of cases) failures.push(await failuresOf(breakage, target, others));
    expect(Object.fromEntries(failures)).toEqual(expected(cases));
  });

  test('fails the rules on sockets', { tags: ['slow'] }, async () => {
    const { target } = await setUp();
    const cases = socketCases(target.token, target.restrictedToken!);
    const failures = await Promise.all([
      ...cases.map((breakage) => failuresOf(breakage, target, sockets)),
      failuresOf(heartbeatCase, { ...target, slow: true }, rulesOf('socket.heartbeat')),
    ]);
    expect(Object.fromEntries(failures)).toEqual(expected([...cases, heartbeatCase]));
  });

  test('fails the rules on time', { tags: ['slow'] }, async () => {
    const { target } = await setUp();
    const failures = await Promise.all([
      ...waitCases.map((breakage) => failuresOf(breakage, target, waits)),
      failuresOf(holdCase, { ...target, slow: true }, rulesOf('wait.hold')),
    ]);
    expect(Object.fromEntries(failures)).toEqual(expected([...waitCases, holdCase]));
  });

  test('fails the rules on size', { tags: ['slow'] }, async () => {
    const { target } = await setUp();
    const failures = [];
    for (const breakage of [...sizeCases, ...frameCases])
      failures.push(await failuresOf(breakage, { ...target, slow: true }, sizes));
    expect(Object.fromEntries(failures)).toEqual(expected([...sizeCases, ...frameCases]));
  });

  test('exists for every rule', async () => {
    const { target } = await setUp();
    const cases = [
      ...readCases,
      ...otherCases(target),
      ...waitCases,
      ...sizeCases,
      ...socketCases(target.token, target.restrictedToken!),
      ...frameCases,
      heartbeatCase,
      holdCase,
      expiredCase,
    ];
    const failing = new Set(cases.flatMap(({ fails }) => fails));
    expect(rules.map(({ id }) => id).filter((id) => !failing.has(id))).toEqual([]);
  });
});
