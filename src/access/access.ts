import { hash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { InputError, TerminalError } from '../lib/errors.ts';
import { inWords } from '../lib/input-words.ts';
import { type Clock, formatInstant, type UtcMs } from '../lib/time.ts';
import { claimsSchema, type Grant, type IssueRequest, issueRequestSchema } from './grant.ts';
import { algorithms, ensureKeys, keyFileOf, readKeys } from './keys.ts';
import { ownTokenId } from './own-token.ts';
import { RefusedToken } from './refused-token.ts';
import { openTokenFiles, type TokenRecord } from './token-files.ts';

export interface AccessOptions {
  /** The folder `access/` in it has the keys, the list of issued tokens and the list of revoked ones. */
  dataDir: string;
  /** A JWKS file with Ed25519 keys. Without one, a file is created in `dataDir` at the first start. */
  jwksFile?: string | undefined;
  issuer: string;
  clock: Clock;
  /** Records tokens that are issued and revoked here. */
  audit?: Audit | undefined;
}

interface IssuedToken extends TokenRecord {
  /** The token itself. It is stored nowhere. */
  token: string;
}

export interface ListedToken extends TokenRecord {
  state: 'active' | 'expired' | 'revoked';
  revokedAtMs?: UtcMs;
}

export interface Access {
  /**
   * Issues a token.
   * @param options.unlisted true for a short-lived token that the program uses itself; the list does not show
   * it
   * @throws InputError if the request is not valid, TerminalError if there is no private key
   */
  issue(request: IssueRequest, options?: { unlisted?: boolean }): Promise<IssuedToken>;
  /**
   * Revokes a token for all processes, from their next request on. Revoking it again changes nothing. Tokens
   * that were issued elsewhere can be revoked too.
   */
  revoke(tokenId: string): { known: boolean; alreadyRevoked: boolean };
  /** The tokens that were issued here, the newest first. */
  list(): ListedToken[];
  /**
   * Checks the signature, issuer, expiry and revocation of a token. No error contains the token.
   * @throws StreamError AuthenticationRequired without a token, InvalidToken for one that is not valid
   */
  authenticate(token: string | undefined): Promise<Grant>;
  /**
   * Checks the expiry and revocation of a grant again.
   * @throws StreamError InvalidToken
   */
  recheck(grant: Grant): void;
}

/** Tokens with a verified signature. It is not computed again for them. */
const VERIFIED_TOKENS_MAX = 10_000;
const TOKEN_CHARACTERS_MAX = 8_192;

/**
 * Issues and checks tokens, which are JWTs signed with Ed25519. All processes that share `dataDir` or the key
 * file accept the same tokens.
 */
export async function createAccess(options: AccessOptions): Promise<Access> {
  const { issuer, clock, audit } = options;
  const folder = join(options.dataDir, 'access');
  const keyFile = keyFileOf(options);
  if (options.jwksFile === undefined) await ensureKeys(keyFile);
  const keys = await readKeys(keyFile);
  const files = openTokenFiles(folder);
  /** Grants by the hash of their token. */
  const verified = new LRUCache<string, Grant>({ max: VERIFIED_TOKENS_MAX });

  const recheck = (grant: Grant) => {
    if (grant.expiresAtMs <= clock.now()) throw new RefusedToken('expired', grant);
    if (isRevoked(grant.tokenId)) throw new RefusedToken('revoked', grant);
  };
  const isRevoked = (tokenId: string): boolean => {
    try {
      return files.revokedAt(tokenId) !== undefined;
    } catch (cause) {
      throw unavailable('tokens cannot be checked now', 1, cause);
    }
  };

  const verify = async (token: string): Promise<Grant> => {
    let payload: unknown;
    try {
      ({ payload } = await jwtVerify(token, keys.verification, {
        algorithms,
        issuer,
        currentDate: new Date(clock.now()),
        requiredClaims: ['exp', 'jti', 'sub', 'iat'],
      }));
    } catch (error) {
      // The expiry is checked after the signature, so the claims can be trusted.
      if (!(error instanceof errors.JWTExpired)) throw new RefusedToken('invalid');
      const claims = claimsSchema.safeParse(error.payload);
      throw new RefusedToken('expired', claims.success ? grantOf(claims.data) : undefined);
    }
    const claims = claimsSchema.safeParse(payload);
    if (!claims.success) throw new RefusedToken('invalid');
    return grantOf(claims.data);
  };

  return {
    async issue(request, { unlisted = false } = {}) {
      const parsed = issueRequestSchema.safeParse(request, inWords);
      if (!parsed.success)
        throw new InputError(
          'the token',
          parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
        );
      if (keys.signing === undefined)
        throw new TerminalError(
          'NoSigningKey',
          `tokens can only be checked here: ${keyFile} has no private key`,
        );
      const { subject, scopes, lifetimeMs } = parsed.data;
      const issuedAtSeconds = Math.floor(clock.now() / 1_000);
      const expiresAtSeconds = Math.floor((clock.now() + lifetimeMs) / 1_000);
      const tokenId = unlisted ? ownTokenId() : randomUUID();
      const { key, keyId } = keys.signing;
      const token = await new SignJWT({ scopes })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', ...(keyId && { kid: keyId }) })
        .setIssuer(issuer)
        .setSubject(subject)
        .setJti(tokenId)
        .setIssuedAt(issuedAtSeconds)
        .setExpirationTime(expiresAtSeconds)
        .sign(key);
      const record = {
        tokenId,
        subject,
        scopes,
        issuedAtMs: issuedAtSeconds * 1_000,
        expiresAtMs: expiresAtSeconds * 1_000,
      };
      if (!unlisted) {
        // The audit entry comes first, so that every listed token has one.
        if (audit) noteIssued(audit, record);
        files.addIssued(record);
      }
      return { ...record, token };
    },
    revoke(tokenId) {
      const issued = files.issued().find((record) => record.tokenId === tokenId);
      const alreadyRevoked = files.revokedAt(tokenId) !== undefined;
      if (!alreadyRevoked) {
        files.addRevoked({ tokenId, revokedAtMs: clock.now() });
        for (const workgroupId of Object.keys(issued?.scopes ?? {}))
          audit?.record(workgroupId, {
            action: 'token.revoked',
            target: tokenId,
            data: { name: issued!.subject },
          });
      }
      return { known: issued !== undefined, alreadyRevoked };
    },
    list() {
      return files
        .issued()
        .map((record): ListedToken => {
          const revokedAtMs = files.revokedAt(record.tokenId);
          if (revokedAtMs !== undefined) return { ...record, state: 'revoked', revokedAtMs };
          return { ...record, state: record.expiresAtMs <= clock.now() ? 'expired' : 'active' };
        })
        .reverse();
    },
    async authenticate(token) {
      if (token === undefined || token === '')
        throw new StreamError(
          'AuthenticationRequired',
          'send an API token as "Authorization: Bearer <token>"',
        );
      if (token.length > TOKEN_CHARACTERS_MAX) throw new RefusedToken('invalid');
      const key = hash('sha256', token, 'base64');
      let grant = verified.get(key);
      if (grant === undefined) {
        if (!isCanonical(token)) throw new RefusedToken('invalid');
        grant = await verify(token);
        verified.set(key, grant);
      }
      recheck(grant);
      return grant;
    },
    recheck,
  };
}

/**
 * True if each part has its one canonical spelling. Base64url leaves some bits of the last character unused,
 * so one signature could have several spellings.
 */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

function grantOf({ jti, sub, scopes, exp }: z.output<typeof claimsSchema>): Grant {
  return { tokenId: jti, subject: sub, scopes, expiresAtMs: exp * 1_000 };
}

function noteIssued(audit: Audit, { tokenId, subject, scopes, expiresAtMs }: TokenRecord): void {
  for (const [workgroupId, { permissions, deviceGroups }] of Object.entries(scopes))
    audit.record(workgroupId, {
      action: 'token.created',
      target: tokenId,
      data: {
        name: subject,
        permissions: permissions.join(' '),
        deviceGroups: deviceGroups?.join(', '),
        expires: formatInstant(expiresAtMs),
      },
    });
}
