import { countText } from '../words/number-words.ts';

/** The rows of one page of a list. @param text the page of the address, from 1 on */
export function pageOf<Row>(rows: readonly Row[], text: string | undefined, size: number) {
  const pages = Math.max(1, Math.ceil(rows.length / size));
  const page = Math.min(pages, Math.max(1, Number.parseInt(text ?? '1', 10) || 1));
  return { shown: rows.slice((page - 1) * size, page * size), page, pages };
}

/** Links to the pages of a list; nothing if there is only one. */
export function PageLinks(props: {
  label: string;
  pages: number;
  page: number;
  hrefOf(page: number): string;
}) {
  const { label, pages, page, hrefOf } = props;
  if (pages < 2) return null;
  return (
    <nav class="choice page-links" aria-label={label}>
      {Array.from({ length: pages }, (_, index) => index + 1).map((pageNumber) => (
        <a key={pageNumber} href={hrefOf(pageNumber)} aria-current={pageNumber === page ? 'true' : undefined}>
          {countText(pageNumber)}
        </a>
      ))}
    </nav>
  );
}
