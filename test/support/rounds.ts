/** True in `npm run test:soak`. */
export const isSoak = process.env.WATTLINE_SOAK === '1';

/**
 * True in `npm run test:full`, which is a part of `.ci/run`, and in the soak. Tests of whole processes, of
 * whole ways through the page and of many random steps take seconds each. Every change passes them before it
 * lands. `npm test` leaves them out, so that it answers in minutes.
 */
export const isFull = isSoak || process.env.WATTLINE_FULL === '1';

/**
 * How often a test goes round: `usual` times in `npm test`, `soak` times in `npm run test:soak`, which proves
 * more and takes longer.
 */
export function rounds(usual: number, soak: number): number {
  return isSoak ? soak : usual;
}

/** What of a list a test looks at: every `step`th item in `npm test`, all in `npm run test:soak`. */
export function sampled<Item>(list: readonly Item[], step: number): Item[] {
  return list.filter((_, index) => index % rounds(step, 1) === 0);
}
