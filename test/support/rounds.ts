/** How often a test goes round: `usual` times in `npm test`, `soak` times in `npm run test:soak`, which proves more and takes longer. */
export function rounds(usual: number, soak: number): number {
  return process.env.WATTLINE_SOAK === '1' ? soak : usual;
}
