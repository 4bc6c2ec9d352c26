import type { Access } from './access.ts';
import type { Grant } from './grant.ts';

/**
 * The result of checking a token. The rate limit and the route of a request both use it, so a token is
 * checked once.
 */
export type Authentication = { kind: 'granted'; grant: Grant } | { kind: 'refused'; error: unknown };

/**
 * Checks a token. It never rejects, because a refused request counts against the rate limit before it is
 * answered.
 */
export async function checkToken(
  access: Pick<Access, 'authenticate'>,
  token: string | undefined,
): Promise<Authentication> {
  try {
    return { kind: 'granted', grant: await access.authenticate(token) };
  } catch (error) {
    return { kind: 'refused', error };
  }
}

/** @throws the error of a token that was refused */
export function grantOrThrow(authentication: Authentication): Grant {
  if (authentication.kind === 'refused') throw authentication.error;
  return authentication.grant;
}
