import { randomUUID } from 'node:crypto';

const PREFIX = 'own-';

/** The id of a token that the program makes for itself, for an hour: it is neither listed nor worth an audit entry. */
export function ownTokenId(): string {
  return `${PREFIX}${randomUUID()}`;
}

export function isOwnToken(tokenId: string): boolean {
  return tokenId.startsWith(PREFIX);
}
