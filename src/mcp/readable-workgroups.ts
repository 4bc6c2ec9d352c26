/**
 * The workgroups whose reports a token is for, as it says itself. The service checks the token with each
 * request.
 */
export function readableWorkgroups(token: string): string[] {
  try {
    const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { scopes = {} } = JSON.parse(text) as { scopes?: Record<string, { permissions?: unknown }> };
    return Object.entries(scopes)
      .filter(([, { permissions }]) => Array.isArray(permissions) && permissions.includes('search:read'))
      .map(([id]) => id)
      .sort();
  } catch {
    return [];
  }
}
