import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { exitCodeOf } from '../../src/cli/terminal/exit-codes.ts';
import { NotTestable } from '../../src/conformance/breach.ts';
import { preflight } from '../../src/conformance/preflight.ts';
import { createProbe } from '../../src/conformance/probe.ts';
import type { Target } from '../../src/conformance/target.ts';

const target: Target = {
  url: 'http://127.0.0.1:1',
  workgroup: 'acme',
  table: 'solar',
  token: 'a',
  restrictedToken: undefined,
  foreignWorkgroup: undefined,
  write: false,
  slow: false,
  socketPath: undefined,
};

/** A probe of a server that gives these answers, one after another, and the last one again and again. */
async function probeOf(
  statuses: number[],
  members: Partial<Target> = {},
  signal = new AbortController().signal,
) {
  let requests = 0;
  const server = createServer((_, response) => {
    const status = statuses[Math.min(requests, statuses.length - 1)]!;
    requests += 1;
    response
      .setHeader('vary', ['accept', 'origin'])
      .writeHead(status, { 'content-type': 'application/cbor', 'retry-after': '0' })
      .end(encodeCbor({ error: 'Some', message: 'why', status }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const probe = createProbe(
    { ...target, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...members },
    signal,
  );
  onTestFinished(async () => {
    await probe.close();
    server.close();
  });
  return { probe, requests: () => requests };
}

test.each<[answer: string, status: number, members: Partial<Target>, exit: number, words: string]>([
  ['refuses the token', 401, {}, 2, '--token: the server refuses it: 401 Some ("why")'],
  ['refuses the table', 403, {}, 2, '--token: it may not read the table "solar" of workgroup "acme"'],
  [
    'refuses all tables',
    403,
    { table: undefined },
    2,
    '--table: the token may not read all tables; name one',
  ],
  ['refuses the table - that was named', 403, { table: '-' }, 2, '--token: it may not read the table "-"'],
  ['is no stream', 404, {}, 1, 'there is no stream below http://127.0.0.1:'],
  ['has too many requests', 429, {}, 3, 'is not ready: 429 Some ("why")'],
  ['is not ready', 503, {}, 3, 'is not ready: 503 Some ("why")'],
  [
    'gets the same token twice',
    200,
    { write: true, restrictedToken: 'a' },
    2,
    '--restricted-token: it is the same as the token',
  ],
])('no rule is checked if the server %s, and the error says why', async (_, status, members, exit, words) => {
  const { probe } = await probeOf([status], members);
  const error = await preflight(probe).catch((thrown: unknown) => thrown);
  expect([exitCodeOf(error), String(error)]).toEqual([exit, expect.stringContaining(words)]);
});

test('a request that is too many is sent again, five times, and every error answer is kept for the rules on errors', async () => {
  const some = await probeOf([429, 429, 200]);
  expect((await some.probe.read('')).status).toBe(200);
  expect([some.requests(), some.probe.errors.map(({ status }) => status)]).toEqual([3, [429, 429]]);
  const all = await probeOf([429]);
  expect((await all.probe.read('')).status).toBe(429);
  expect(all.requests()).toBe(6);
});

test('a header that came several times is read as one list', async () => {
  const { probe } = await probeOf([200]);
  const { header } = await probe.read('');
  expect([header('vary'), header('content-type'), header('etag')]).toEqual([
    'accept, origin',
    'application/cbor',
    undefined,
  ]);
});

test('after a thousand requests a rule is skipped instead of sending more', async () => {
  // Nothing leaves this process, because the signal is aborted.
  const probe = createProbe(target, AbortSignal.abort(new Error('ended')));
  const results = await Promise.allSettled(Array.from({ length: 1_001 }, () => probe.read('')));
  const reasons = results.map((result) => (result.status === 'rejected' ? result.reason : undefined));
  expect(reasons.slice(0, 1_000).every((reason) => reason.message === 'ended')).toBe(true);
  expect(reasons[1_000]).toEqual(new NotTestable('1000 requests were sent already'));
  await probe.close();
});
