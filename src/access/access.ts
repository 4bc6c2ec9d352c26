import { hash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { errors, jwtVerify, SignJWT } from 'jose';
import { StreamError } from '../contract/errors.ts';
import { InputError, TerminalError } from '../errors.ts';
import type { Clock, UtcMs } from '../time.ts';
import { claimsSchema, type Grant, type IssueRequest, issueRequestSchema, type Scopes } from './grant.ts';
import { algorithms, ensureKeys, readKeys } from './keys.ts';
import { openTokenFiles } from './token-files.ts';

export interface AccessOptions {
  /** Keys, the list of issued tokens and the list of revoked ones lie in `access/` below it. */
  dataDir: string;
  /** A JWKS file with Ed25519 keys; made below `dataDir` on first start where none is named. */
  jwksFile?: string | undefined;
  issuer: string;
  clock: Clock;
}

export interface IssuedToken extends TokenRecord {
  /** Shown once: it is stored nowhere. */
  token: string;
}

/** What is remembered of a token. */
export interface TokenRecord {
  tokenId: string;
  subject: string;
  scopes: Scopes;
  issuedAtMs: UtcMs;
  expiresAtMs: UtcMs;
}

export interface ListedToken extends TokenRecord {
  state: 'active' | 'expired' | 'revoked';
  revokedAtMs?: UtcMs;
}

export interface Access {
  /**
   * Makes a token.
   * @param options.unlisted a short-lived one of the program's own, which nobody needs to see in the list
   * @throws InputError for a request that makes no sense, TerminalError where there is no private key
   */
  issue(request: IssueRequest, options?: { unlisted?: boolean }): Promise<IssuedToken>;
  /** Ends a token everywhere, within a request's time. Revoking it again, or one not issued here, is fine. */
  revoke(tokenId: string): { known: boolean; alreadyRevoked: boolean };
  /** The tokens issued here, newest first. */
  list(): ListedToken[];
  /**
   * Checks a token: signature, issuer, expiry, revocation. The error never holds the token.
   * @throws StreamError AuthenticationRequired without one, InvalidToken for one that does not hold
   */
  authenticate(token: string | undefined): Promise<Grant>;
  /**
   * Checks again, in the middle of a long session, that a grant still holds.
   * @throws StreamError InvalidToken
   */
  recheck(grant: Grant): void;
}

/** Signatures that were found good are not computed again for the same token; this many are remembered. */
const VERIFIED_TOKENS_MAX = 10_000;
const TOKEN_CHARACTERS_MAX = 8_192;

/** Tokens are JWTs signed with Ed25519. Every process that shares `dataDir` or the key file accepts the same ones. */
export async function createAccess(options: AccessOptions): Promise<Access> {
  const { issuer, clock } = options;
  const folder = join(options.dataDir, 'access');
  const keyFile = options.jwksFile ?? join(folder, 'keys.json');
  if (options.jwksFile === undefined) await ensureKeys(keyFile);
  const keys = await readKeys(keyFile);
  const files = openTokenFiles(folder);
  /** Grants by the hash of their token, least recently used first. */
  const verified = new Map<string, Grant>();

  const recheck = (grant: Grant) => {
    if (grant.expiresAtMs <= clock.now()) throw invalidToken('the token has expired');
    if (isRevoked(grant.tokenId)) throw invalidToken();
  };
  const isRevoked = (tokenId: string): boolean => {
    try {
      return files.revokedAt(tokenId) !== undefined;
    } catch (cause) {
      const error = new StreamError('StorageUnavailable', 'tokens cannot be checked now', {}, 1);
      error.cause = cause;
      throw error;
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
      // Only a token whose signature is good gets as far as its expiry.
      throw error instanceof errors.JWTExpired ? invalidToken('the token has expired') : invalidToken();
    }
    const claims = claimsSchema.safeParse(payload);
    if (!claims.success) throw invalidToken();
    const { jti, sub, scopes, exp } = claims.data;
    return { tokenId: jti, subject: sub, scopes, expiresAtMs: exp * 1_000 };
  };

  return {
    async issue(request, { unlisted = false } = {}) {
      const parsed = issueRequestSchema.safeParse(request);
      if (!parsed.success)
        throw new InputError(
          'the token',
          parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
        );
      if (keys.signing === undefined)
        throw new TerminalError(
          'NoSigningKey',
          `tokens can only be checked here: ${keyFile} holds no private key`,
        );
      const { subject, scopes, lifetimeMs } = parsed.data;
      const issuedAtSeconds = Math.floor(clock.now() / 1_000);
      const expiresAtSeconds = Math.floor((clock.now() + lifetimeMs) / 1_000);
      const tokenId = randomUUID();
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
      if (!unlisted) files.addIssued(record);
      return { ...record, token };
    },
    revoke(tokenId) {
      const known = files.issued().some((record) => record.tokenId === tokenId);
      const alreadyRevoked = files.revokedAt(tokenId) !== undefined;
      if (!alreadyRevoked) files.addRevoked({ tokenId, revokedAtMs: clock.now() });
      return { known, alreadyRevoked };
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
      if (token.length > TOKEN_CHARACTERS_MAX) throw invalidToken();
      const key = hash('sha256', token, 'base64');
      let grant = verified.get(key);
      if (grant === undefined) {
        grant = await verify(token);
        const oldest = verified.keys().next().value;
        if (verified.size >= VERIFIED_TOKENS_MAX && oldest !== undefined) verified.delete(oldest);
      } else verified.delete(key);
      verified.set(key, grant);
      recheck(grant);
      return grant;
    },
    recheck,
  };
}

/** One text for a bad signature, a revoked token and nonsense, so that trying tokens tells nothing. */
function invalidToken(message = 'the token is not valid'): StreamError {
  return new StreamError('InvalidToken', message);
}
