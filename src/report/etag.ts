import { hash } from 'node:crypto';

/** An entity tag for an answer that depends on these facts, which must be JSON. */
export function etagOf(facts: unknown): string {
  return `"${hash('sha256', JSON.stringify(facts), 'base64url').slice(0, 27)}"`;
}

/** Whether an If-None-Match header names this entity tag (RFC 9110, 13.1.2: compared weakly). */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((candidate) => {
    const tag = candidate.trim();
    return tag === '*' || tag.replace(/^W\//, '') === etag;
  });
}
