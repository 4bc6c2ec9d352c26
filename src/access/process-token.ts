import { randomUUID } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { TerminalError } from '../lib/errors.ts';
import { type Clock, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { algorithms, readKeys } from './keys.ts';

/** A call of one process to another one. A token allows exactly this call. */
export interface ProcessCall {
  /** The id of the called process. */
  receiver: string;
  workgroupId: string;
  operation: string;
  /** The SHA-256 of the arguments, in hex. */
  argumentsSha256: string;
  /** The file that is sent with the arguments. */
  file?: { bytes: number; sha256: string } | undefined;
}

export type CheckedCall =
  | { kind: 'valid'; call: ProcessCall; tokenId: string; expiresAtMs: UtcMs }
  | { kind: 'expired' }
  /** Signed with another key, for another purpose, or not a token. */
  | { kind: 'invalid' };

/** Tokens by which the processes of a service know each other. */
export interface ProcessTokens {
  /** @throws TerminalError if the key file has no private key */
  sign(call: ProcessCall): Promise<string>;
  /**
   * Checks signature, purpose and expiry. The caller compares the call, and refuses a token that was used
   * before.
   */
  check(token: string | undefined): Promise<CheckedCall>;
}

/**
 * How long a token is valid. The clocks of two machines may differ by this much. A call that waits longer in
 * a stopped process is not run.
 */
export const PROCESS_TOKEN_MS = 20 * SECOND_MS;
/**
 * Only tokens of processes have this audience and this type, so no token of a user is accepted from a
 * process. No token of a process is accepted from a user, because it has no subject and no time of issue.
 */
const AUDIENCE = 'wattline:process';
const TYPE = 'wattline-process+jwt';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const callSchema = z.strictObject({
  receiver: z.string().min(1),
  workgroupId: z.string(),
  operation: z.string(),
  argumentsSha256: sha256,
  file: z.strictObject({ bytes: z.int().min(0), sha256 }).optional(),
});
const payloadSchema = z.object({ jti: z.string().min(1), exp: z.number(), call: callSchema });

/**
 * Signs with the key that also signs the tokens of users. All processes of a service have this key, so no
 * secret is stored in Redis.
 * @param keyFile `access.jwksFile`
 */
export async function openProcessTokens(options: {
  keyFile: string;
  issuer: string;
  clock: Clock;
}): Promise<ProcessTokens> {
  const { keyFile, issuer, clock } = options;
  const keys = await readKeys(keyFile);
  return {
    async sign(call) {
      if (keys.signing === undefined)
        throw new TerminalError(
          'NoSigningKey',
          `this process cannot call workers: ${keyFile} has no private key; give all processes the same access.jwksFile`,
        );
      const { key, keyId } = keys.signing;
      return new SignJWT({ call })
        .setProtectedHeader({ alg: 'EdDSA', typ: TYPE, ...(keyId && { kid: keyId }) })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setJti(randomUUID())
        .setExpirationTime(Math.ceil((clock.now() + PROCESS_TOKEN_MS) / SECOND_MS))
        .sign(key);
    },
    async check(token) {
      try {
        const { payload } = await jwtVerify(token ?? '', keys.verification, {
          algorithms,
          issuer,
          audience: AUDIENCE,
          typ: TYPE,
          currentDate: new Date(clock.now()),
          requiredClaims: ['exp', 'jti'],
        });
        const claims = payloadSchema.safeParse(payload);
        if (!claims.success) return { kind: 'invalid' };
        const { call, jti: tokenId, exp } = claims.data;
        return { kind: 'valid', call, tokenId, expiresAtMs: exp * SECOND_MS };
      } catch (error) {
        return { kind: error instanceof errors.JWTExpired ? 'expired' : 'invalid' };
      }
    },
  };
}
