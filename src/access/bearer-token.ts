/**
 * The token of an Authorization header; undefined without the header, or for another scheme (RFC 6750, 2.1).
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1];
}
