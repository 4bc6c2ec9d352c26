/** The outcome of one item: the result of the work, or the error that it threw. */
export type Isolated<Result> = { kind: 'done'; result: Result } | { kind: 'thrown'; error: unknown };

/**
 * Does work on many items at once. If the work throws, it is tried with each half alone, until only single
 * items throw. All other items have their results.
 * @param work returns a result for each item, in their order
 */
export async function isolate<Item, Result>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<Result[]>,
): Promise<Array<Isolated<Result>>> {
  try {
    return (await work(items)).map((result) => ({ kind: 'done', result }));
  } catch (error) {
    if (items.length === 1) return [{ kind: 'thrown', error }];
    const middle = Math.ceil(items.length / 2);
    return [...(await isolate(items.slice(0, middle), work)), ...(await isolate(items.slice(middle), work))];
  }
}
