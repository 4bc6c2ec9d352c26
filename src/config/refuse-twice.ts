import type { z } from 'zod';

/** Reports items with the key of an earlier item. Items without a key are not compared. */
export function refuseTwice<Item>(
  items: readonly Item[],
  context: z.RefinementCtx,
  at: keyof Item & string,
  keyOf: (item: Item) => string | undefined,
  messageOf = (item: Item) => `"${String(item[at])}" is used twice`,
): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    if (key === undefined) continue;
    if (seen.has(key)) context.addIssue({ code: 'custom', path: [index, at], message: messageOf(item) });
    seen.add(key);
  }
}
