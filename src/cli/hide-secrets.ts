const HIDDEN = '[secret]';
const SECRET_NAMES = new Set(['token', 'password', 'secret']);

/** A copy of a configuration that may be shown: tokens, passwords and the credentials within addresses are cut out. */
export function hideSecrets<T>(value: T): T {
  return hide(value, '') as T;
}

function hide(value: unknown, name: string): unknown {
  if (typeof value === 'string') return SECRET_NAMES.has(name) ? HIDDEN : hideCredentials(value);
  if (Array.isArray(value)) return value.map((item) => hide(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hide(item, key)]));
}

function hideCredentials(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, `$1${HIDDEN}@`);
}
