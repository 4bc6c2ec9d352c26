import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ASKED_MAX, askEach } from '../../src/doctor/ask-each.ts';
import { askReceiver } from '../../src/doctor/ask-receiver.ts';
import { clockFact, zoneFact } from '../../src/doctor/check-clock.ts';
import { type FileSystemFacts, spaceFacts } from '../../src/doctor/check-data-folder.ts';
import { endFacts } from '../../src/doctor/end-facts.ts';
import { type Check, ok, runChecks } from '../../src/doctor/run-checks.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/lib/time.ts';

test('a check that hangs and a check that fails are problems, and the others are answered in their order', async () => {
  let aborted: unknown;
  const checks: Check[] = [
    { name: 'first', run: async () => [ok('fine')] },
    {
      name: 'hangs',
      run: (signal) => {
        signal.addEventListener('abort', () => {
          aborted = signal.reason;
        });
        return new Promise(() => undefined);
      },
    },
    { name: 'fails', run: () => Promise.reject(new Error('the disk is gone')) },
    { name: 'last', run: async () => [ok('fine, too')] },
  ];
  expect(await runChecks(checks, 20)).toMatchObject([
    { check: 'first', state: 'ok', found: 'fine' },
    { check: 'hangs', state: 'problem', found: 'no result within 0.02 s' },
    { check: 'fails', state: 'problem', found: 'the disk is gone' },
    { check: 'last', state: 'ok', found: 'fine, too' },
  ]);
  expect(aborted).toBeInstanceOf(Error);
});

test('a server that is silent or fails hides no other, and only the first ones are asked', async () => {
  const given = new AbortController().signal;
  const servers = ['silent', 'broken', ...Array.from({ length: ASKED_MAX }, (_, index) => `number ${index}`)];
  const options = {
    kind: 'servers',
    nameOf: (server: string) => server,
    next: 'look at it',
    async ask(server: string, signal: AbortSignal) {
      if (server === 'broken') throw new Error('refused');
      if (server !== 'silent') return [ok(server)];
      return new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      );
    },
  };
  const facts = await askEach(servers, options, given, 20);
  expect(facts.slice(0, 3)).toEqual([
    { state: 'problem', found: 'silent: no answer within 0.02 s', next: 'look at it' },
    { state: 'problem', found: 'broken: refused', next: undefined },
    { state: 'ok', found: 'number 0' },
  ]);
  expect(facts.at(-1)).toEqual({ state: 'ok', found: '2 more servers were not asked' });
  expect(facts).toHaveLength(ASKED_MAX + 1);
});

test.each([
  [200, 'ok', undefined],
  [405, 'ok', undefined],
  [501, 'ok', undefined],
  [301, 'warning', /^redirects are not followed: configure the final address/],
  [401, 'warning', /^check the configured headers/],
  [403, 'warning', /^check the configured headers/],
  [407, 'warning', /^look at the log of the receiver/],
  [500, 'warning', /^look at the log of the receiver/],
])('a receiver that answers HEAD with %i: %s', async (status, state, next) => {
  const methods: unknown[] = [];
  const server = createServer(({ method }, response) => {
    methods.push(method);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receiver = { url: `http://${host}/secret`, headers: {} };
  const asked = { about: 'channel "ops"', tryIt: 'wattline alerts test ops' };
  const [fact, ...more] = await askReceiver(receiver, asked, new AbortController().signal);
  expect([fact!.state, more, methods]).toEqual([state, [], ['HEAD']]);
  expect(fact!.found).toContain(`${host} answers for channel "ops" (HTTP ${status} to HEAD)`);
  expect(`${fact!.found} ${fact!.next}`).toContain('"wattline alerts test ops" shows whether it takes');
  if (next) expect(fact!.next).toMatch(next);
});

describe('the disk of the data folder', () => {
  const GIB_BLOCKS = 1024 ** 3 / 4_096;
  const usual: FileSystemFacts = {
    type: 0xef53,
    bsize: 4_096,
    blocks: 100 * GIB_BLOCKS,
    bavail: 50 * GIB_BLOCKS,
    files: 1_000_000,
    ffree: 900_000,
  };
  const statesOf = (facts: Partial<FileSystemFacts>, isShared = false) =>
    spaceFacts('/data', { ...usual, ...facts }, isShared).map(({ state, found }) => `${state}: ${found}`);

  test('is fine with space and inodes', () => {
    expect(statesOf({})).toEqual([
      'ok: 50.0 GiB of 100.0 GiB are free',
      'ok: 900,000 of 1,000,000 files (inodes) are free',
    ]);
  });

  test.each<[Partial<FileSystemFacts>, RegExp]>([
    [{ bavail: 9 * GIB_BLOCKS }, /^warning: 9\.0 GiB of/],
    [{ blocks: 2 * GIB_BLOCKS, bavail: GIB_BLOCKS / 2 }, /^warning: 0\.5 GiB of 2\.0/],
    [{ blocks: 4 * GIB_BLOCKS, bavail: 0.9 * GIB_BLOCKS }, /^warning: 0\.9 GiB of 4\.0/],
    [{ bavail: 1_000 }, /^problem: the disk of \/data is full/],
    [{ ffree: 49_000 }, /^warning: 49,000 of/],
    [{ ffree: 0 }, /^problem: 0 of/],
    [{ type: 0x6969 }, /^warning: it is on a network file system \(NFS\)/],
    ...[0x517b, 0xff534d42, 0xfe534d42].map((type): [Partial<FileSystemFacts>, RegExp] => [
      { type },
      /^warning: it is on a network file system \(SMB\)/,
    ]),
    [{ type: 0xc36400 }, /^warning: it is on a network file system \(Ceph\)/],
    [{ type: 0x5346414f }, /^warning: it is on a network file system \(AFS\)/],
    [{ type: 0x01021994 }, /^warning: it is in memory/],
  ])('is not with %j', (facts, said) => {
    expect(statesOf(facts).filter((fact) => said.test(fact))).toHaveLength(1);
    expect(statesOf(facts).filter((fact) => !fact.startsWith('ok'))).toHaveLength(1);
  });

  test('a tenth of a very large disk, a shared folder, and no count of inodes are fine', () => {
    expect(statesOf({ blocks: 1_000 * GIB_BLOCKS })).toMatchObject([
      expect.stringMatching(/^ok/),
      expect.stringMatching(/^ok/),
    ]);
    expect(statesOf({ type: 0x6969 }, true).filter((fact) => !fact.startsWith('ok'))).toEqual([]);
    expect(statesOf({ files: 0, ffree: 0 })).toHaveLength(1);
    expect(statesOf({ blocks: 200 * GIB_BLOCKS, bavail: 10 * GIB_BLOCKS - 1 })[0]).toMatch(/^warning/);
    expect(statesOf({ blocks: 200 * GIB_BLOCKS, bavail: 10 * GIB_BLOCKS })[0]).toMatch(/^ok/);
    expect(statesOf({ ffree: 50_000 })[1]).toMatch(/^ok/);
  });
});

test.each([
  [2 * SECOND_MS, 'ok', 'the clock agrees with that of it'],
  [-HOUR_MS, 'problem', 'the clock of this machine is 3600 s behind that of it'],
  [5 * SECOND_MS, 'ok', 'the clock agrees with that of it'],
  [300 * SECOND_MS, 'warning', 'the clock of this machine is 300 s ahead of that of it'],
  [-30 * SECOND_MS, 'warning', 'the clock of this machine is 30 s behind that of it'],
  [HOUR_MS, 'problem', 'the clock of this machine is 3600 s ahead of that of it'],
])('a clock that is %d ms ahead: %s', (aheadMs, state, found) => {
  expect(clockFact('it', aheadMs)).toMatchObject({ state, found });
});

test('old data of time zones are a warning', () => {
  const nowMs = Date.UTC(2026, 5, 1);
  const states = ['2024b', '2023a', '2021a', 'none', undefined].map((data) => zoneFact(data, nowMs).state);
  expect(states).toEqual(['ok', 'warning', 'warning', 'warning', 'warning']);
});

test('what has ended is a problem, what ends soon a warning, and nothing is said of the rest', () => {
  const states = [-1, 0, 1, 14 * DAY_MS - 1, 14 * DAY_MS].map((inMs) =>
    endFacts('it', inMs, 0, { next: '' }).map(({ state }) => state),
  );
  expect(states).toEqual([['problem'], ['problem'], ['warning'], ['warning'], []]);
});
