/**
 * Works on items, a few at a time. After the first failure it begins no other item. p-queue would go on with
 * all of them, and p-map would not wait for those that have begun.
 * @throws the first failure, after all begun work has ended
 */
export async function runAtATime<Item>(
  items: readonly Item[],
  atATime: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let hasFailed = false;
  const workOn = async () => {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: atATime }, workOn));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
}
