import { describe, expect, test } from 'vitest';
import { createProbe } from '../../src/conformance/probe.ts';
import { rules } from '../../src/conformance/rules.ts';
import { checkRules, type Finding } from '../../src/conformance/run.ts';
import type { Target } from '../../src/conformance/target.ts';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';
import { deviceId } from '../support/messages.ts';
import { startStreamService } from '../support/stream-service.ts';
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
import { frameCase, heartbeatCase, socketCases } from './breakages-socket.ts';
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
    for await (const finding of checkRules(picked, probe, signal)) findings.push(finding);
    return findings;
  } finally {
    await probe.close();
  }
}

const withResult = (findings: readonly Finding[], result: Finding['result']) =>
  findings.filter((finding) => finding.result === result).map(({ rule }) => rule.id);

/** The rules that see a breakage. */
async function failuresOf(breakage: Case, target: Target, picked: typeof rules) {
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
  test('keeps every rule', async () => {
    const { target } = await setUp();
    const findings = await findingsOf(target);
    expect(findings.filter(({ result }) => result === 'fail')).toEqual([]);
    expect(withResult(findings, 'skip')).toEqual([
      'offset.expired',
      'limit.default',
      'limit.bytes',
      'wait.hold',
      'ingest.bytes-max',
      'socket.frame-size',
      'socket.heartbeat',
      'error.retry-after',
    ]);
  });

  test('keeps the limits of its answers', async () => {
    const { target } = await setUp();
    expect(withResult(await findingsOf({ ...target, slow: true }, sizes), 'pass')).toHaveLength(sizes.length);
  });

  test('says when messages are gone', async () => {
    const { target } = await setUp({ retentionMs: 50 });
    await findingsOf(target, rulesOf('ingest.json'));
    await new Promise((resolve) => setTimeout(resolve, 60));
    const expired = rulesOf('offset.expired');
    expect(withResult(await findingsOf(target, expired), 'pass')).toHaveLength(1);
    expect(await failuresOf(expiredCase, target, expired)).toEqual([expiredCase.name, expiredCase.fails]);
  });

  test('is only read where it may not be written to', async () => {
    const { target, service } = await setUp();
    const findings = await findingsOf({ ...target, table: 'solar', write: false });
    expect(withResult(findings, 'fail')).toEqual([]);
    expect(withResult(findings, 'pass').length).toBeGreaterThan(15);
    expect((await (await service.stream.logOf('acme')).bounds()).next).toBe(0n);
  });
});

describe('a server that is broken in one way', () => {
  const otherCases = (target: Target) => [
    ...accessCases(target.token, target.restrictedToken!),
    ...ingestCases,
    ...errorCases,
  ];

  test('fails exactly the rules that are about it', async () => {
    const { target } = await setUp();
    const failures: Array<readonly [string, string[]]> = [];
    for (const breakage of readCases) failures.push(await failuresOf(breakage, target, reads));
    expect(Object.fromEntries(failures)).toEqual(expected(readCases));
  }, 60_000);

  test('fails those of access, ingest and errors', async () => {
    const { target } = await setUp();
    const cases = otherCases(target);
    const failures: Array<readonly [string, string[]]> = [];
    for (const breakage of cases) failures.push(await failuresOf(breakage, target, others));
    expect(Object.fromEntries(failures)).toEqual(expected(cases));
  });

  test('fails those of its sockets', async () => {
    const { target } = await setUp();
    const failures = await Promise.all([
      ...socketCases.map((breakage) => failuresOf(breakage, target, sockets)),
      failuresOf(heartbeatCase, { ...target, slow: true }, rulesOf('socket.heartbeat')),
    ]);
    expect(Object.fromEntries(failures)).toEqual(expected([...socketCases, heartbeatCase]));
  }, 60_000);

  test('fails those of time', async () => {
    const { target } = await setUp();
    const failures = await Promise.all([
      ...waitCases.map((breakage) => failuresOf(breakage, target, waits)),
      failuresOf(holdCase, { ...target, slow: true }, rulesOf('wait.hold')),
    ]);
    expect(Object.fromEntries(failures)).toEqual(expected([...waitCases, holdCase]));
  }, 60_000);

  test('fails those of size', async () => {
    const { target } = await setUp();
    const failures = [];
    for (const breakage of [...sizeCases, frameCase])
      failures.push(await failuresOf(breakage, { ...target, slow: true }, sizes));
    expect(Object.fromEntries(failures)).toEqual(expected([...sizeCases, frameCase]));
  });

  test('can fail every rule that there is', async () => {
    const { target } = await setUp();
    const cases = [
      ...readCases,
      ...otherCases(target),
      ...waitCases,
      ...sizeCases,
      ...socketCases,
      frameCase,
      heartbeatCase,
      holdCase,
      expiredCase,
    ];
    const failing = new Set(cases.flatMap(({ fails }) => fails));
    expect(rules.map(({ id }) => id).filter((id) => !failing.has(id))).toEqual([]);
  });
});
