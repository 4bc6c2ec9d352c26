/** True in `npm run test:soak`. */
export const isSoak = process.env.WATTLINE_SOAK === '1';

/**
 * True in `npm run test:full`, in the soak, and if `vitest run` names files. False in `npm test`, which
 * leaves out tests with the tag `slow`, the web page and S3, so that it takes only minutes.
 */
export const isFull = isSoak || process.env.WATTLINE_SHORT !== '1';

/**
 * How long a test and its hooks may take if they name no other time. It is more than six times what the
 * longest of them takes on an idle machine, because a machine that does other work, too, can be five times as
 * slow.
 */
export const TEST_MS_MAX = isSoak ? 240_000 : isFull ? 120_000 : 60_000;
/**
 * How long a test waits for one condition. It is shorter than the time of a test, so its own error is shown,
 * and not the error of the test.
 */
export const WAIT_MS_MAX = TEST_MS_MAX / 2;

/** The number of rounds of a test: `soak` in `npm run test:soak`, and else `usual`. */
export function rounds(usual: number, soak: number): number {
  return isSoak ? soak : usual;
}

/**
 * The items of a list that a test uses: all of them in `npm run test:soak`, and else every `step`th item.
 */
export function sampled<Item>(list: readonly Item[], step: number): Item[] {
  return list.filter((_, index) => index % rounds(step, 1) === 0);
}
