const HIDDEN = '[secret]';
const SECRET_NAMES = new Set(['token', 'password', 'secret', 'secretAccessKey']);

/** A copy of a configuration that may be shown: tokens, passwords, headers and the credentials within addresses are cut out. */
export function hideSecrets<T>(value: T): T {
  return hide(value, '') as T;
}

function hide(value: unknown, name: string): unknown {
  if (typeof value === 'string') return SECRET_NAMES.has(name) ? HIDDEN : hideCredentials(value, name);
  if (Array.isArray(value)) return value.map((item) => hide(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hide(item, within(name, key))]));
}

/** Any header may carry a credential, whatever it is called, and so may the path of a webhook. */
function within(name: string, key: string): string {
  if (name === 'headers') return 'secret';
  return name === 'webhook' && key === 'url' ? 'webhook.url' : key;
}

function hideCredentials(text: string, name: string): string {
  if (name === 'webhook.url' && URL.canParse(text)) return `${new URL(text).origin}/${HIDDEN}`;
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${HIDDEN}@`);
}
