import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { decodeProtectedHeader, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { ensureKeys, readKeys } from '../../src/access/keys.ts';
import { isOwnToken, ownTokenId } from '../../src/access/own-token.ts';
import { openProcessTokens, PROCESS_TOKEN_MS, type ProcessCall } from '../../src/access/process-token.ts';
import { openUsedTokens } from '../../src/access/token-files.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const call: ProcessCall = {
  receiver: 'worker',
  workgroupId: 'home',
  operation: 'explain',
  argumentsSha256: 'a'.repeat(64),
};

async function setUp() {
  const clock = createTestClock();
  const keyFile = join(tempDir(), 'keys.json');
  await ensureKeys(keyFile);
  const tokens = await openProcessTokens({ keyFile, issuer: 'wattline', clock });
  const { signing } = await readKeys(keyFile);
  /** A token with the key of the processes, with what differs. */
  const sign = ({
    audience = 'wattline:process',
    issuer = 'wattline',
    typ = 'wattline-process+jwt',
    content = call as unknown,
    id = 'one',
  }) =>
    new SignJWT({ call: content })
      .setProtectedHeader({ alg: 'EdDSA', typ, kid: signing!.keyId! })
      .setIssuer(issuer)
      .setAudience(audience)
      .setJti(id)
      .setExpirationTime(Math.ceil((clock.now() + PROCESS_TOKEN_MS) / 1_000))
      .sign(signing!.key);
  return { clock, tokens, sign };
}

test('a token of a process allows its call for 20 s, and each has an id of its own', async () => {
  const { clock, tokens } = await setUp();
  const token = await tokens.sign(call);
  const checked = await tokens.check(token);
  expect(checked).toMatchObject({ kind: 'valid', call, expiresAtMs: clock.now() + 20_000 });
  expect(await tokens.check(await tokens.sign(call))).not.toMatchObject({
    tokenId: checked.kind === 'valid' && checked.tokenId,
  });
  clock.leap(PROCESS_TOKEN_MS - 1_000);
  expect(await tokens.check(token)).toMatchObject({ kind: 'valid' });
  clock.leap(1_000);
  expect(await tokens.check(token)).toEqual({ kind: 'expired' });
});

test('a token names its key, so that it can be checked with a file of several keys', async () => {
  const { tokens, sign } = await setUp();
  expect(decodeProtectedHeader(await tokens.sign(call)).kid).toBe(decodeProtectedHeader(await sign({})).kid);
});

test.each<[about: string, differs: Parameters<Awaited<ReturnType<typeof setUp>>['sign']>[0]]>([
  ['is for another audience', { audience: 'wattline:other' }],
  ['is of another type', { typ: 'JWT' }],
  ['is of another issuer', { issuer: 'somebody' }],
  ['has no id', { id: '' }],
  ['has no call', { content: null }],
  ['has more in its call', { content: { ...call, more: 1 } }],
  ['has a hash of another form', { content: { ...call, argumentsSha256: 'A'.repeat(64) } }],
])('a token with the right key is invalid if it %s', async (_, differs) => {
  const { tokens, sign } = await setUp();
  expect(await tokens.check(await sign({}))).toMatchObject({ kind: 'valid' });
  expect(await tokens.check(await sign(differs))).toEqual({ kind: 'invalid' });
});

test('no token, and a token with another key, are invalid', async () => {
  const { tokens } = await setUp();
  const others = await setUp();
  for (const token of [undefined, '', 'nonsense', await others.tokens.sign(call)])
    expect(await tokens.check(token)).toEqual({ kind: 'invalid' });
});

test('the first use of a token in a workgroup is noted once, by any process', () => {
  const dataDir = tempDir();
  mkdirSync(dataDir, { recursive: true });
  const [one, another] = [openUsedTokens(dataDir), openUsedTokens(dataDir)];
  expect(one.add('t', 'home', 1)).toBe(true);
  expect([one.has('t', 'home'), one.has('t', 'plant'), one.has('u', 'home')]).toEqual([true, false, false]);
  expect([one.add('t', 'home', 2), another.add('t', 'home', 3)]).toEqual([false, false]);
  expect(another.add('t', 'plant', 4)).toBe(true);
  expect(openUsedTokens(dataDir).add('t', 'plant', 5)).toBe(false);
});

test("the program's own tokens are known by the beginning of their ids", () => {
  expect(isOwnToken(ownTokenId())).toBe(true);
  expect(isOwnToken('my-own-token')).toBe(false);
  expect(ownTokenId()).not.toBe(ownTokenId());
});
