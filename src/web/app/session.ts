/**
 * What the page knows of a token. The page does not check the token, because the service does. It only reads
 * who the token is for and what it allows.
 */
export interface TokenSession {
  token: string;
  subject: string;
  /** The workgroups whose reports it may read, in order of their names. */
  workgroups: readonly OpenWorkgroup[];
}

export interface OpenWorkgroup {
  id: string;
  maySeeAll: boolean;
  mayCorrect: boolean;
  /** True if it may see and change how the service runs. */
  mayOperate: boolean;
  /** True if it may read the audit log. */
  mayAudit: boolean;
}

interface Claims {
  sub?: unknown;
  exp?: unknown;
  scopes?: Record<string, { permissions?: unknown; deviceGroups?: unknown }>;
}

const KEY = 'wattline.token';

/** Reads a token that a person has pasted, also with the word Bearer before it. */
export function readToken(
  text: string,
  nowMs = Date.now(),
): { kind: 'session'; session: TokenSession } | { kind: 'refused'; reason: string } {
  const token = text.trim().replace(/^bearer\s+/i, '');
  if (token === '') return refused('Paste a token first.');
  const claims = claimsOf(token);
  if (!claims)
    return refused(
      'This is not a token. A token is one long text with two dots in it; check that all of it was copied.',
    );
  if (typeof claims.exp === 'number' && claims.exp * 1_000 <= nowMs)
    return refused('This token has expired. Ask for a new one.');
  const workgroups = Object.entries(claims.scopes ?? {})
    .map(([id, { permissions, deviceGroups }]) => {
      const allowed = Array.isArray(permissions) ? permissions : [];
      return {
        id,
        mayRead: allowed.includes('search:read'),
        mayCorrect: allowed.includes('data:correct'),
        mayOperate: allowed.includes('org:admin'),
        mayAudit: allowed.includes('org:audit'),
        maySeeAll: deviceGroups === undefined,
      };
    })
    .filter(({ mayRead }) => mayRead)
    .map(({ mayRead: _, ...rest }) => rest)
    .sort((a, b) => a.id.localeCompare(b.id));
  if (workgroups.length === 0)
    return refused('This token may not read reports. It needs the permission search:read.');
  return { kind: 'session', session: { token, subject: String(claims.sub ?? ''), workgroups } };
}

function refused(reason: string) {
  return { kind: 'refused', reason } as const;
}

function claimsOf(token: string): Claims | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const bytes = Uint8Array.from(atob(parts[1]!.replaceAll('-', '+').replaceAll('_', '/')), (one) =>
      one.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? (claims as Claims) : undefined;
  } catch {
    return undefined;
  }
}

/** The token of this tab. It is deleted when the tab is closed. */
export const storedToken = {
  read: () => sessionStorage.getItem(KEY) ?? undefined,
  write: (token: string) => sessionStorage.setItem(KEY, token),
  clear: () => sessionStorage.removeItem(KEY),
};
