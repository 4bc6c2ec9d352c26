import { hash } from 'node:crypto';

/**
 * An entity tag for an answer that depends on these facts, which must be JSON. It is weak (RFC 9110, section
 * 8.8.1), because the compressed and the plain answer have the same one.
 */
export function etagOf(facts: unknown): string {
  return etagOfBytes(JSON.stringify(facts));
}

/** The same for an answer that is always these bytes. */
export function etagOfBytes(bytes: Uint8Array | string): string {
  return `W/"${hash('sha256', bytes, 'base64url').slice(0, 27)}"`;
}

/**
 * True if an If-None-Match header has this entity tag. RFC 9110, section 13.1.2: they are compared weakly.
 * The library `fresh` also reads Cache-Control, and gives no 304 to a page that is loaded again.
 */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const ownTag = withoutPrefix(etag);
  return header.split(',').some((candidate) => {
    const tag = candidate.trim();
    return tag === '*' || withoutPrefix(tag) === ownTag;
  });
}

function withoutPrefix(tag: string): string {
  return tag.replace(/^W\//, '');
}
