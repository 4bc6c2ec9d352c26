import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { configSchema } from '../../src/config/config.ts';
import { checkAccess, checkSecrets } from '../../src/doctor/check-access.ts';
import { checkVersions } from '../../src/doctor/check-versions.ts';
import { runChecks } from '../../src/doctor/run-checks.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const { access } = configSchema.parse({});

test('the first five tokens that end soon are named, the others are counted, and revoked ones are left out', async () => {
  const dataDir = tempDir();
  const clock = createTestClock();
  const found = async () =>
    (await runChecks([checkAccess({ dataDir, access }, clock)])).map((one) => `${one.state}: ${one.found}`);
  expect(await found()).toEqual([
    expect.stringMatching(/^ok: there are no keys yet; the first start creates/),
  ]);

  const { issue, revoke } = await createAccess({ dataDir, issuer: 'wattline', clock });
  const tokens = [];
  for (const [subject, days] of Object.entries({ a: 13, b: 13, c: 13, d: 13, e: 13, f: 13, g: 13, late: 15 }))
    tokens.push(
      await issue({ subject, scopes: { home: { permissions: ['search:read'] } }, lifetimeMs: days * DAY_MS }),
    );
  revoke(tokens[0]!.tokenId);
  const [keys, ...ending] = await found();
  expect(keys).toMatch(/^ok: the keys in .* can be used$/);
  expect(ending).toHaveLength(6);
  expect(ending.slice(0, 5).every((text) => /^warning: the token "[b-g]" ends at/.test(text))).toBe(true);
  expect(ending[5]).toBe('warning: 1 more token ends soon');
});

test('a configured key file that does not exist is a problem', async () => {
  const settings = { dataDir: tempDir(), access: { ...access, jwksFile: '/none/keys.json' } };
  expect(await runChecks([checkAccess(settings, createTestClock())])).toMatchObject([
    { check: 'access', state: 'problem', found: 'the key file /none/keys.json does not exist' },
  ]);
});

test.each([
  [0o600, 'ok'],
  [0o660, 'ok'],
  [0o604, 'problem'],
  [0o601, 'problem'],
])('a file with a secret of the mode %o: %s', async (mode, state) => {
  const dataDir = tempDir();
  const path = join(dataDir, 'secret');
  writeFileSync(path, 'x');
  chmodSync(path, mode);
  const facts = await runChecks([checkSecrets({ dataDir, access }, [path, join(dataDir, 'none')])]);
  expect(facts.map((fact) => fact.state)).toEqual([state]);
});

test('a process of another version is a warning', async () => {
  const [own] = await runChecks([checkVersions(async () => [])]);
  const version = /^Wattline (\S+), Node/.exec(own!.found)![1]!;
  const process = (processId: number, running: string | undefined) => ({
    processId,
    roles: ['worker'],
    outcome: { kind: 'answer' as const, answer: { version: running, loadedAtMs: 0, needRestart: [] } },
  });
  const silent = { ...process(4, ''), outcome: { kind: 'failed' as const, error: new Error('no') } };
  const processes = [process(1, version), process(2, '0.0.1'), process(3, undefined), silent];
  const facts = await runChecks([checkVersions(async () => processes)]);
  expect(facts.slice(1).map(({ state, found }) => `${state}: ${found}`)).toEqual([
    `warning: process 2 runs 0.0.1, and this command is ${version}`,
    `warning: process 3 runs an older version, and this command is ${version}`,
  ]);
});
