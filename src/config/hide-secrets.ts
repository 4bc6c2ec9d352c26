const HIDDEN = '[secret]';
const SECRET_NAMES = new Set(['token', 'password', 'secret', 'secretAccessKey', 'sessionToken', 'clientKey']);

/** A copy of a configuration without tokens, passwords, headers and credentials in addresses. */
export function hideSecrets<T>(value: T): T {
  return hide(value, '') as T;
}

function hide(value: unknown, name: string): unknown {
  if (typeof value === 'string') return SECRET_NAMES.has(name) ? HIDDEN : hideCredentials(value, name);
  if (Array.isArray(value)) return value.map((item) => hide(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hide(item, within(name, key))]));
}

/** All headers, and the paths of a webhook and of a topic of ntfy, can contain credentials. */
function within(name: string, key: string): string {
  if (name === 'headers') return 'secret';
  return (name === 'webhook' || name === 'ntfy') && key === 'url' ? 'webhook.url' : key;
}

function hideCredentials(text: string, name: string): string {
  if (name === 'webhook.url' && URL.canParse(text)) return `${new URL(text).origin}/${HIDDEN}`;
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${HIDDEN}@`);
}
