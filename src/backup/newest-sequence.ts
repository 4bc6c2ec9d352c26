import { commitKey, parseAnalyticsKey, parseCommitKey } from '../publish/lake-layout.ts';
import type { ObjectStore } from '../storage/object-store.ts';

/** A list of this many keys costs one request. */
const PAGE = 1_000;

/**
 * Finds the newest commit of a store with few requests. A bucket lists keys only from the oldest on, and a
 * week of commits has 10,000 keys. So the search begins at the newest views for analysts, which are usually
 * an hour old. Without views it doubles its steps, and then halves them.
 * @param from only this sequence and later ones. Give the newest known one: then the search needs one request
 * @returns undefined if there is no commit
 */
export async function newestSequence(
  store: ObjectStore,
  { from = 1, signal }: { from?: number; signal?: AbortSignal } = {},
): Promise<number | undefined> {
  if (from > 1) return searchFrom(store, from, signal);
  const views = await newestViews(store, signal);
  const found = views === undefined ? undefined : await searchFrom(store, views, signal);
  // The newest views can be of a commit that somebody has deleted by hand.
  return found ?? searchFrom(store, from, signal);
}

async function newestViews(store: ObjectStore, signal?: AbortSignal): Promise<number | undefined> {
  let newest: number | undefined;
  for await (const { key } of store.list('analytics/', { signal })) newest = parseAnalyticsKey(key) ?? newest;
  return newest;
}

async function searchFrom(
  store: ObjectStore,
  from: number,
  signal?: AbortSignal,
): Promise<number | undefined> {
  /** The commits after a sequence, at most a page of them. */
  async function pageAfter(sequence: number): Promise<{ newest: number | undefined; isLast: boolean }> {
    let newest: number | undefined;
    let keys = 0;
    const options = { startAfter: commitKey(sequence), keysMax: PAGE, signal };
    for await (const { key } of store.list('commits/', options)) {
      keys += 1;
      newest = parseCommitKey(key) ?? newest;
    }
    return { newest, isLast: keys < PAGE };
  }

  let page = await pageAfter(from - 1);
  let newest = page.newest;
  if (newest === undefined || page.isLast) return newest;
  /** No commit is later than this. Undefined until it is known. */
  let end: number | undefined;
  for (let step = PAGE; end === undefined || newest < end; step *= 2) {
    const after: number =
      end === undefined ? newest + step : Math.max(newest, Math.floor((newest + end - PAGE) / 2));
    page = await pageAfter(after);
    if (page.newest === undefined) end = after;
    else newest = page.newest;
    if (page.newest !== undefined && page.isLast) return newest;
  }
  return newest;
}
