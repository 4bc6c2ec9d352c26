import { type CorrectionQuery, correctionLimits } from '../../correction/correction-request.ts';
import type { ListedCorrection } from '../../correction/list-corrections.ts';

type Page = Pick<CorrectionQuery, 'before' | 'limit'>;

/** All corrections of a list, newest first. A worker answers with a limited number, so they are read in pages. */
export async function readAllCorrections(
  readPage: (page: Page) => Promise<ListedCorrection[]>,
): Promise<ListedCorrection[]> {
  const limit = correctionLimits.shownMax;
  const all: ListedCorrection[] = [];
  for (;;) {
    const oldest = all.at(-1);
    const page = await readPage({ limit, ...(oldest && { before: oldest.id }) });
    all.push(...page);
    if (page.length < limit) return all;
  }
}
