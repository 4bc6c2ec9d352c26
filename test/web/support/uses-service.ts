import { readFileSync } from 'node:fs';

/**
 * True if a file has a test of the page that runs. The tests of `testPageInFull` are skipped outside of the
 * full set.
 */
export function usesService(paths: readonly string[], { isFull }: { isFull: boolean }): boolean {
  const uses = isFull ? /\btestPage(?:InFull)?\b/ : /\btestPage\b/;
  return paths.some((path) => path.endsWith('.page.test.ts') && uses.test(readFileSync(path, 'utf8')));
}
