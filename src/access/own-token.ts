import { randomUUID } from 'node:crypto';

const PREFIX = 'own-';

/**
 * The id of a token that the program issues to itself for an hour. The token is not listed, and its use is
 * not recorded.
 */
export function ownTokenId(): string {
  return `${PREFIX}${randomUUID()}`;
}

export function isOwnToken(tokenId: string): boolean {
  return tokenId.startsWith(PREFIX);
}
