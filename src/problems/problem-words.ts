const NAMES_MAX = 5;

/** Names in quotes. The first ones if there are many. They are sorted by similarity. */
export function quotedNames(names: readonly string[]): string {
  return listed(
    names.slice(0, NAMES_MAX).map((name) => `"${name}"`),
    names.length - NAMES_MAX,
  );
}

export function listed(names: readonly string[], more = 0): string {
  const last = more > 0 ? `${more} more` : names.at(-1);
  const before = more > 0 ? names : names.slice(0, -1);
  return [before.join(', '), last].filter(Boolean).join(' and ') || 'none';
}
