import { type CorrectionQuery, correctionLimits } from '../../correction/correction-request.ts';
import type { ListedCorrection } from '../../correction/list-corrections.ts';

type Page = Pick<CorrectionQuery, 'before' | 'limit'>;

/** All corrections of a list, newest first. They are read in pages, because an answer has a limit. */
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
