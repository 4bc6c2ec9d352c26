import { findHeading, type HeadingOptions } from './find-heading.ts';
import { type CsvFormat, type ParsedCsv, parseCsv } from './parse-csv.ts';

type TableOptions = HeadingOptions & Omit<CsvFormat, 'delimiter' | 'fromLine'>;

/** Reads CSV from its heading on. If no line is a heading, it reads from the first line. */
export function parseCsvTable(text: string, { delimiter, isHeading, ...limits }: TableOptions): ParsedCsv {
  const heading = findHeading(text, { delimiter, isHeading });
  return parseCsv(text, {
    ...limits,
    delimiter: heading?.delimiter ?? delimiter ?? ',',
    fromLine: (heading?.skipLines ?? 0) + 1,
  });
}
