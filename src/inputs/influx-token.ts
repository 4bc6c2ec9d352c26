/**
 * The token of a request to the API of InfluxDB: `Bearer` or `Token` with the token, `Token` with a user and
 * the token, Basic authentication with the token as password, or the query parameter `p` of version 1. Users
 * are ignored.
 */
export function influxToken(authorization: string | undefined, query: unknown): string | undefined {
  const [, scheme, value = ''] = /^(bearer|token|basic) +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (scheme !== undefined) {
    const text = scheme.toLowerCase() === 'basic' ? Buffer.from(value, 'base64').toString('utf8') : value;
    return text.slice(text.lastIndexOf(':') + 1);
  }
  const { p } = (query ?? {}) as { p?: unknown };
  return authorization === undefined && typeof p === 'string' ? p : undefined;
}
