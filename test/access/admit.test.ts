import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { createAccessAudit } from '../../src/access/access-audit.ts';
import { admit } from '../../src/access/admit.ts';
import { checkToken } from '../../src/access/check-token.ts';
import type { Permission } from '../../src/access/grant.ts';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import type { StreamError } from '../../src/contract/stream-errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

async function setUp() {
  const clock = createTestClock();
  const dataDir = tempDir();
  const audit = createAudit({ dataDir, actor: 'operator', clock });
  const access = await createAccess({ dataDir, issuer: 'wattline', clock, audit });
  /** A process that shares the folder. */
  const createGate = () => ({
    groupsOf: (id: string) => (['home', 'other'].includes(id) ? {} : undefined),
    audit: createAccessAudit({ dataDir, audit, clock, startTimer: clock.startTimer, logger: silentLogger }),
  });
  const gate = createGate();
  const issued: string[] = [];
  return {
    clock,
    access,
    dataDir,
    gate,
    createGate,
    issued,
    async issue(permissions: Permission[] = ['search:read'], workgroups = ['home']) {
      const scopes = Object.fromEntries(workgroups.map((id) => [id, { permissions }]));
      const token = await access.issue({ subject: 'me', scopes, lifetimeMs: HOUR_MS });
      issued.push(token.token);
      return token;
    },
    /** The result: `admitted`, or the code of the error. */
    attempt: async (
      token: string | undefined,
      workgroupId = 'home',
      required: Permission[] = ['search:read'],
      at = gate,
    ) => {
      try {
        admit(at, await checkToken(access, token), workgroupId, required);
        return 'admitted';
      } catch (error) {
        return (error as StreamError).code;
      }
    },
    /** The audit entries since the last call. */
    noted(workgroupId = 'home') {
      const spool = openAuditSpool(dataDir, workgroupId);
      return spool.waiting().map((name) => {
        const text = readFileSync(join(dataDir, 'audit', workgroupId, name), 'utf8');
        for (const token of issued)
          for (const part of [token, ...token.split('.').slice(1)]) expect(text).not.toContain(part);
        const entry = spool.read(name)!;
        spool.remove(name);
        return entry;
      });
    },
  };
}

test('an issued and a revoked token are recorded in each of its workgroups, by id and name', async () => {
  const { access, issue, noted, clock } = await setUp();
  const { tokenId } = await issue(['search:read', 'org:audit'], ['home', 'other']);
  for (const workgroupId of ['home', 'other'])
    expect(noted(workgroupId)).toMatchObject([
      {
        actor: 'operator',
        action: 'token.created',
        target: tokenId,
        data: {
          name: 'me',
          permissions: 'search:read org:audit',
          expires: new Date(clock.now() + HOUR_MS).toISOString(),
        },
      },
    ]);
  access.revoke(tokenId);
  access.revoke(tokenId);
  access.revoke('nobody-knows-it');
  expect(noted('other')).toMatchObject([{ action: 'token.revoked', target: tokenId, data: { name: 'me' } }]);
  expect(noted()).toHaveLength(1);
});

test('the record of a token for device groups has their names, and the one of another token has none', async () => {
  const { access, issue, noted } = await setUp();
  const scope = { permissions: ['search:read' as const], deviceGroups: ['roof', 'yard'] };
  await access.issue({ subject: 'me', scopes: { home: scope }, lifetimeMs: HOUR_MS });
  await issue(['search:read']);
  expect(noted().map(({ data }) => data?.deviceGroups)).toEqual(['roof, yard', undefined]);
});

test('the first use of a token is recorded once for each workgroup, in any process', async () => {
  const { issue, attempt, noted, createGate, clock } = await setUp();
  const { token, tokenId } = await issue(['search:read'], ['home', 'other']);
  noted('home');
  noted('other');
  for (let times = 0; times < 3; times++) expect(await attempt(token)).toBe('admitted');
  expect(await attempt(token, 'home', ['search:read'], createGate())).toBe('admitted');
  expect(noted()).toMatchObject([{ actor: 'me', action: 'token.first_used', target: tokenId }]);
  await clock.advance(5);
  expect(await attempt(token, 'other')).toBe('admitted');
  expect(noted('other')).toHaveLength(1);
});

test("the program's own tokens are not worth an entry", async () => {
  const { access, attempt, noted } = await setUp();
  const scopes = { home: { permissions: ['search:read' as const] } };
  const { token } = await access.issue(
    { subject: 'worker', scopes, lifetimeMs: HOUR_MS },
    { unlisted: true },
  );
  expect(await attempt(token)).toBe('admitted');
  expect(noted()).toEqual([]);
});

test('refusals are recorded with the reason and the id of a token that was once valid, which the caller does not get', async () => {
  const { access, issue, attempt, noted, clock } = await setUp();
  const revoked = await issue();
  access.revoke(revoked.tokenId);
  const sender = await issue(['data:write']);
  const elsewhere = await issue(['search:read'], ['other']);
  noted();
  expect(await attempt('nonsense')).toBe('InvalidToken');
  expect(await attempt(revoked.token)).toBe('InvalidToken');
  expect(await attempt(sender.token)).toBe('InsufficientScope');
  expect(await attempt(elsewhere.token)).toBe('WorkgroupForbidden');
  await clock.advance(2 * HOUR_MS);
  expect(await attempt(sender.token)).toBe('InvalidToken');
  await clock.advance(SECOND_MS);
  expect(
    noted().map(({ action, actor, target, data }) => [action, actor, target, data!.reason, data!.count]),
  ).toEqual([
    ['token.refused', 'unknown', undefined, 'invalid', 1],
    ['token.refused', revoked.tokenId, revoked.tokenId, 'revoked', 1],
    ['token.refused', sender.tokenId, sender.tokenId, 'insufficient_scope', 1],
    ['token.refused', elsewhere.tokenId, elsewhere.tokenId, 'other_workgroup', 1],
    ['token.refused', sender.tokenId, sender.tokenId, 'expired', 1],
  ]);
});

test('a missing token and an unknown workgroup are not recorded', async () => {
  const { issue, attempt, noted, clock } = await setUp();
  const { token } = await issue();
  noted();
  expect(await attempt(undefined)).toBe('AuthenticationRequired');
  expect(await attempt(token, 'nowhere')).toBe('WorkgroupForbidden');
  expect(await attempt('nonsense', 'nowhere')).toBe('InvalidToken');
  await clock.advance(MINUTE_MS);
  expect([noted(), noted('nowhere')]).toEqual([[], []]);
});

test('refusals have at most one entry a minute and reason, with their number', async () => {
  const { attempt, noted, clock, gate } = await setUp();
  const entries = () => noted().map(({ data }) => [data!.count, data!.since]);
  const counts = () => entries().map(([count]) => count);
  await attempt('nonsense');
  // Nothing is written before the answer, because its time would show that the workgroup exists.
  expect(counts()).toEqual([]);
  await clock.advance(SECOND_MS);
  expect(counts()).toEqual([1]);
  await clock.advance(SECOND_MS);
  const sinceMs = clock.now();
  for (let times = 0; times < 999; times++) await attempt(`nonsense-${times}`);
  await clock.advance(MINUTE_MS - SECOND_MS - 1);
  expect(counts()).toEqual([]);
  await clock.advance(1);
  expect(entries()).toEqual([[999, sinceMs]]);
  for (let times = 0; times < 10; times++) await attempt('nonsense');
  expect(counts()).toEqual([]);
  gate.audit.close();
  expect(counts()).toEqual([10]);
  expect(clock.timersPending).toBe(0);
  await attempt('nonsense');
  await clock.advance(10 * MINUTE_MS);
  expect(counts()).toEqual([1]);
  expect(clock.timersPending).toBe(0);
});

test('a folder that cannot be written refuses no caller', async () => {
  const { issue, attempt, gate } = await setUp();
  const { token } = await issue();
  const failing = createAudit({ dataDir: '/dev/null/nowhere', actor: 'x' });
  const clock = createTestClock();
  const audit = createAccessAudit({
    dataDir: tempDir(),
    audit: failing,
    clock,
    startTimer: clock.startTimer,
    logger: silentLogger,
  });
  expect(await attempt(token, 'home', ['search:read'], { ...gate, audit })).toBe('admitted');
  expect(await attempt('nonsense', 'home', ['search:read'], { ...gate, audit })).toBe('InvalidToken');
});
