import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { type AccessOptions, createAccess } from '../../src/access/access.ts';
import type { IssueRequest } from '../../src/access/grant.ts';
import { createAudit } from '../../src/audit/audit.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const request: IssueRequest = {
  subject: 'dashboard',
  scopes: { acme: { permissions: ['search:read'], deviceGroups: ['roof'] } },
  lifetimeMs: 3_600_000,
};

async function setUp(options: Partial<AccessOptions> = {}) {
  const clock = createTestClock();
  const settings = { dataDir: tempDir(), issuer: 'wattline', clock, ...options };
  const access = await createAccess(settings);
  /** The access of another process that shares the folder. */
  const another = () => createAccess(settings);
  return { clock, access, another, dataDir: settings.dataDir };
}

const invalid = { code: 'InvalidToken', message: 'the token is not valid' };

describe('tokens', () => {
  test('an issued token is accepted and grants the requested rights', async () => {
    const { access, clock } = await setUp();
    const { token, tokenId } = await access.issue(request);
    const grant = {
      tokenId,
      subject: 'dashboard',
      scopes: request.scopes,
      expiresAtMs: clock.now() + 3_600_000,
    };
    expect(await access.authenticate(token)).toEqual(grant);
    expect(await access.authenticate(token)).toEqual(grant);
  });

  test('a token is not issued if its audit entry cannot be written', async () => {
    const { access } = await setUp({ audit: createAudit({ dataDir: '/dev/null/nowhere', actor: 'x' }) });
    await expect(access.issue(request)).rejects.toThrow('ENOTDIR');
    expect(access.list()).toEqual([]);
  });

  test('another process with the same folder accepts it, another folder does not', async () => {
    const { access, another } = await setUp();
    const { token } = await access.issue(request);
    expect(await (await another()).authenticate(token)).toMatchObject({ subject: 'dashboard' });
    const stranger = await setUp();
    await expect(stranger.access.authenticate(token)).rejects.toMatchObject(invalid);
  });

  test('a missing token and a bad token have different errors', async () => {
    const { access } = await setUp();
    for (const none of [undefined, ''])
      await expect(access.authenticate(none)).rejects.toMatchObject({ code: 'AuthenticationRequired' });
    for (const bad of ['x', 'a.b.c', '.', '..', 'é.é.é', 'x'.repeat(100_000)])
      await expect(access.authenticate(bad)).rejects.toMatchObject(invalid);
  });

  test('a token with any changed character is invalid, and no error contains the token', async () => {
    const { access } = await setUp();
    const { token } = await access.issue(request);
    for (let at = 0; at < token.length; at += 7) {
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
      const error: Error = await access.authenticate(changed).then(
        () => expect.unreachable(`accepted with another character at ${at}`),
        (caught) => caught,
      );
      expect(error).toMatchObject({ code: 'InvalidToken' });
      expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).not.toContain(changed);
    }
  });

  test('a token has one spelling: other spellings of its signature are refused', async () => {
    const { access } = await setUp();
    const { token } = await access.issue(request);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // 64 bytes leave four bits of the last character unused.
    const last = alphabet.indexOf(token.at(-1)!);
    const respelled = Array.from(
      { length: 15 },
      (_, bits) => token.slice(0, -1) + alphabet[last ^ (bits + 1)],
    );
    const signatureOf = (text: string) => Buffer.from(text.split('.')[2]!, 'base64url').toString('hex');
    for (const other of [
      ...respelled,
      `${token}==`,
      `${token}=`,
      `${token}A`,
      token.replaceAll('.', ' .'),
      `${token}.`,
    ]) {
      if (respelled.includes(other)) expect(signatureOf(other)).toBe(signatureOf(token));
      await expect(access.authenticate(other), other).rejects.toMatchObject(invalid);
    }
    await access.authenticate(token);
    for (const other of respelled) await expect(access.authenticate(other)).rejects.toMatchObject(invalid);
  });

  test('a token expires to the second, even if its signature was checked before', async () => {
    const { access, clock, another } = await setUp();
    const { token } = await access.issue(request);
    const grant = await access.authenticate(token);
    await clock.advance(3_599_999);
    await access.authenticate(token);
    access.recheck(grant);
    await clock.advance(1);
    const expired = { code: 'InvalidToken', message: 'the token has expired' };
    await expect(access.authenticate(token)).rejects.toMatchObject(expired);
    await expect((await another()).authenticate(token)).rejects.toMatchObject(expired);
    expect(() => access.recheck(grant)).toThrow('the token has expired');
  });

  test('only a token with a valid signature is reported as expired', async () => {
    const { access, clock } = await setUp();
    const { token } = await access.issue(request);
    await clock.advance(3_600_000);
    const [head, body] = token.split('.');
    await expect(access.authenticate(`${head}.${body}.${'A'.repeat(86)}`)).rejects.toMatchObject(invalid);
  });

  test('a revoked token is refused at once, in every process and for ever', async () => {
    const { access, another, dataDir } = await setUp();
    const { token, tokenId } = await access.issue(request);
    const other = await another();
    const grant = await other.authenticate(token);
    expect(access.revoke(tokenId)).toEqual({ known: true, alreadyRevoked: false });
    await expect(access.authenticate(token)).rejects.toMatchObject(invalid);
    await expect(other.authenticate(token)).rejects.toMatchObject(invalid);
    expect(() => other.recheck(grant)).toThrow('not valid');
    expect(other.revoke(tokenId)).toEqual({ known: true, alreadyRevoked: true });
    expect(access.revoke('made elsewhere')).toEqual({ known: false, alreadyRevoked: false });
    await expect((await another()).authenticate(token)).rejects.toMatchObject(invalid);
    writeFileSync(join(dataDir, 'access', 'revoked.ndjson'), '');
    await expect(access.authenticate(token)).rejects.toMatchObject(invalid);
  });

  test('a line that a crash cut off does not affect other lines', async () => {
    const { access, another, dataDir } = await setUp();
    const tokens = await Promise.all([0, 1, 2].map(() => access.issue(request)));
    access.revoke(tokens[0]!.tokenId);
    appendFileSync(join(dataDir, 'access', 'revoked.ndjson'), `{"tokenId":"${tokens[1]!.tokenId}","rev`);
    await access.authenticate(tokens[1]!.token);
    access.revoke(tokens[2]!.tokenId);
    for (const process of [access, await another()]) {
      await expect(process.authenticate(tokens[0]!.token)).rejects.toMatchObject(invalid);
      await process.authenticate(tokens[1]!.token);
      await expect(process.authenticate(tokens[2]!.token)).rejects.toMatchObject(invalid);
    }
  });

  test('an unreadable list of revocations refuses all tokens as a fault of the service', async () => {
    const { access, dataDir } = await setUp();
    const { token, tokenId } = await access.issue(request);
    access.revoke(tokenId);
    rmSync(join(dataDir, 'access', 'revoked.ndjson'));
    mkdirSync(join(dataDir, 'access', 'revoked.ndjson'));
    await expect(access.authenticate(token)).rejects.toMatchObject({ code: 'StorageUnavailable' });
  });

  test('issued tokens are listed with their state, and no file contains a token', async () => {
    const { access, clock, dataDir } = await setUp();
    const first = await access.issue({ ...request, lifetimeMs: 60_000 });
    await clock.advance(30_000);
    const second = await access.issue(request);
    const third = await access.issue(request);
    access.revoke(second.tokenId);
    await clock.advance(30_000);
    expect(access.list().map(({ tokenId, state }) => [tokenId, state])).toEqual([
      [third.tokenId, 'active'],
      [second.tokenId, 'revoked'],
      [first.tokenId, 'expired'],
    ]);
    expect(access.list()[1]).toMatchObject({ subject: 'dashboard', scopes: request.scopes });
    const folder = join(dataDir, 'access');
    const stored = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    for (const { token } of [first, second, third])
      for (const part of token.split('.').slice(1)) expect(stored.join()).not.toContain(part);
  });

  test('an invalid request for a token gets all its problems', async () => {
    const { access } = await setUp();
    const nonsense = {
      subject: '',
      scopes: { acme: { permissions: ['org:all'], deviceGroups: [] } },
      lifetimeMs: 0,
    };
    const error = await access.issue(nonsense as unknown as IssueRequest).catch((caught) => caught);
    expect(error).toMatchObject({ code: 'InvalidInput' });
    expect(error.problems.map((problem: { path: string }) => problem.path)).toEqual([
      'subject',
      'scopes.acme.permissions.0',
      'scopes.acme.deviceGroups',
      'lifetimeMs',
    ]);
    const nothing = { acme: { permissions: [] } };
    await expect(access.issue({ ...request, scopes: nothing })).rejects.toMatchObject({
      code: 'InvalidInput',
    });
    await expect(access.issue({ ...request, scopes: {} })).rejects.toMatchObject({ code: 'InvalidInput' });
  });
});

describe('keys', () => {
  test('are created once by any process, and only their owner can read them', async () => {
    const dataDir = tempDir();
    const options = { dataDir, issuer: 'wattline', clock: createTestClock() };
    const processes = await Promise.all(Array.from({ length: 8 }, () => createAccess(options)));
    expect(statSync(join(dataDir, 'access', 'keys.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'access')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(dataDir, 'access')).filter((name) => name.endsWith('.draft'))).toEqual([]);
    const { token } = await processes[0]!.issue(request);
    for (const process of processes) await process.authenticate(token);
  });

  test('of a file with private keys sign, and of a file with public keys only verify', async () => {
    const folder = tempDir();
    const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
    const { d, ...publicKey } = await exportJWK(privateKey);
    const files = { private: join(folder, 'private.json'), public: join(folder, 'public.json') };
    writeFileSync(files.private, JSON.stringify({ keys: [{ ...publicKey, d, kid: 'one' }] }));
    writeFileSync(files.public, JSON.stringify({ keys: [{ ...publicKey, kid: 'one' }] }));
    const signer = await setUp({ jwksFile: files.private });
    const verifier = await setUp({ jwksFile: files.public });
    const { token } = await signer.access.issue(request);
    expect(await verifier.access.authenticate(token)).toMatchObject({ subject: 'dashboard' });
    await expect(verifier.access.issue(request)).rejects.toMatchObject({ code: 'NoSigningKey' });
    expect(readdirSync(join(signer.dataDir, 'access'))).not.toContain('keys.json');
    expect(statSync(join(signer.dataDir, 'access')).mode & 0o777).toBe(0o700);
  });

  test('that cannot be used are reported with file and reason, but without their content', async () => {
    const folder = tempDir();
    const file = join(folder, 'keys.json');
    const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
    const key = await exportJWK(privateKey);
    const open = () => setUp({ jwksFile: file });
    await expect(open()).rejects.toThrow('cannot be read (ENOENT)');
    for (const [content, reason] of [
      ['secret stuff', 'is not JSON'],
      [JSON.stringify({ keys: [] }), 'at least one key'],
      [JSON.stringify({ keys: [{ kty: 'oct', k: 'secret stuff' }] }), 'must be "OKP"'],
      [JSON.stringify({ keys: [{ ...key, x: 'secretstuff' }] }), 'not a valid Ed25519 key'],
      [JSON.stringify({ keys: [key, key] }), 'their own "kid"'],
    ] as const) {
      writeFileSync(file, content);
      const error: Error = await open().catch((caught) => caught);
      expect(error).toMatchObject({ code: 'InvalidInput' });
      expect(error.message).toContain(reason);
      expect(error.message).toContain(file);
      expect(error.message).not.toMatch(/secret/);
    }
  });

  test('can be rotated: the first private key signs and all others still verify', async () => {
    const folder = tempDir();
    const make = async (kid: string) => {
      const { privateKey } = await generateKeyPair('EdDSA', { extractable: true });
      return { ...(await exportJWK(privateKey)), kid };
    };
    const [old, fresh] = [await make('old'), await make('fresh')];
    const before = join(folder, 'before.json');
    const after = join(folder, 'after.json');
    writeFileSync(before, JSON.stringify({ keys: [old] }));
    writeFileSync(after, JSON.stringify({ keys: [fresh, old] }));
    const { token } = await (await setUp({ jwksFile: before })).access.issue(request);
    const rotated = await setUp({ jwksFile: after });
    await rotated.access.authenticate(token);
    const next = await rotated.access.issue(request);
    await expect((await setUp({ jwksFile: before })).access.authenticate(next.token)).rejects.toMatchObject(
      invalid,
    );
  });
});

describe('tokens of other issuers', () => {
  async function forge() {
    const folder = tempDir();
    const file = join(folder, 'keys.json');
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { extractable: true });
    const jwk = await exportJWK(privateKey);
    writeFileSync(file, JSON.stringify({ keys: [jwk] }));
    const subject = await setUp({ jwksFile: file });
    const nowSeconds = Math.floor(subject.clock.now() / 1_000);
    const claims = {
      iss: 'wattline',
      sub: 'partner',
      jti: 'token-1',
      iat: nowSeconds,
      exp: nowSeconds + 60,
      scopes: { acme: { permissions: ['search:read'] } },
    };
    const sign = (changes: Record<string, unknown>, alg = 'EdDSA') =>
      new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg }).sign(privateKey);
    return { ...subject, claims, sign, publicKey, jwk };
  }

  test('are accepted with a right key and right claims, under both names of the algorithm', async () => {
    const { access, sign } = await forge();
    expect(await access.authenticate(await sign({}))).toMatchObject({
      tokenId: 'token-1',
      subject: 'partner',
    });
    expect(await access.authenticate(await sign({}, 'Ed25519'))).toMatchObject({ tokenId: 'token-1' });
  });

  test('are refused with any other algorithm, also one keyed with the public key', async () => {
    const { access, claims, jwk } = await forge();
    const publicBytes = Buffer.from(jwk.x!, 'base64url');
    const hmac = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(publicBytes);
    await expect(access.authenticate(hmac)).rejects.toMatchObject(invalid);
    await expect(access.authenticate(new UnsecuredJWT(claims).encode())).rejects.toMatchObject(invalid);
  });

  test('have at most 64 permissions, also unknown ones, and 1,000 device groups in a workgroup', async () => {
    const { access, sign } = await forge();
    const names = (count: number) => Array.from({ length: count }, (_, index) => `name-${index}`);
    const withScope = async (permissions: number, deviceGroups: number) =>
      access.authenticate(
        await sign({
          scopes: { acme: { permissions: names(permissions), deviceGroups: Array(deviceGroups).fill('a') } },
        }),
      );
    await withScope(64, 1);
    await withScope(1, 1_000);
    await expect(withScope(65, 1)).rejects.toMatchObject(invalid);
    await expect(withScope(1, 1_001)).rejects.toMatchObject(invalid);
  });

  test('are invalid if a claim is missing, of another type, or unknown', async () => {
    const { access, sign, claims } = await forge();
    const scope = claims.scopes.acme;
    for (const changes of [
      { iss: 'somebody' },
      { iss: undefined },
      { sub: undefined },
      { jti: undefined },
      { exp: undefined },
      { iat: undefined },
      { nbf: claims.iat + 1 },
      { scopes: undefined },
      { scopes: 'acme' },
      { scopes: { acme: ['search:read'] } },
      { scopes: { acme: { permissions: 'search:read' } } },
      { scopes: { acme: { ...scope, deviceGroups: 'roof' } } },
      { scopes: { acme: { ...scope, deviceGroups: null } } },
      { scopes: { acme: { ...scope, tables: ['solar'] } } },
      { scopes: { '../acme': scope } },
    ])
      await expect(access.authenticate(await sign(changes)), JSON.stringify(changes)).rejects.toMatchObject(
        invalid,
      );
  });
});
