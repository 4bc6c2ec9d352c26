import { parseUnit } from '../lib/units.ts';
import { guessTimeFormat } from './guess-time-format.ts';
import { type CsvRow, csvDelimiters, parseCsv } from './parse-csv.ts';

/** Where the table of a CSV file begins. */
export interface Heading {
  delimiter: string;
  /** Lines above the line that names the columns. */
  skipLines: number;
  /** The text of these lines, without empty cells and blank lines. */
  titles: string[];
}

export interface HeadingOptions {
  /** The character between cells. Default: the delimiter that fits. */
  delimiter?: string | undefined;
  /** True for a row that names the expected columns. The first row for which it is true is the heading. */
  isHeading?: ((cells: readonly string[]) => boolean) | undefined;
}

const LINES_MAX = 80;
/** The heading and its titles lie within this number of characters. */
const CHARACTERS_MAX = 1024 * 1024;
/** Rows with more cells are not headings. Looking at their cells would take seconds. */
const HEADING_CELLS_MAX = 5_000;
/**
 * A heading names more than this share of the columns. Title lines that are padded with empty cells name
 * fewer.
 */
const NAMED_MIN = 0.5;
/** A longer cell is not a number. The pattern takes time in proportion to the square of the length. */
const NUMBER_CHARACTERS_MAX = 100;
const numberPattern = /^[+-]?[\d.,' ]*\d[\d.,]*([eE][+-]?\d+)?$/;

interface Candidate {
  delimiter: string;
  rows: CsvRow[];
}

/**
 * Finds the line that names the columns. A row with expected names is the heading. Without one, the heading
 * is the row with the most names above the first rows that hold a time and a number.
 * @param text how the file begins
 * @returns undefined if no line is a heading or no row is data
 */
export function findHeading(text: string, options: HeadingOptions = {}): Heading | undefined {
  const { delimiter, isHeading } = options;
  const candidates = (delimiter === undefined ? csvDelimiters : [delimiter]).map(
    (tried): Candidate => ({ delimiter: tried, rows: firstRows(text, tried) }),
  );
  for (const candidate of isHeading ? candidates : []) {
    const row = candidate.rows.find(({ cells }) => isHeading!(cells));
    if (row) return headingAt(candidate, row);
  }
  return findAboveData(candidates) ?? (isHeading && findWidest(candidates));
}

function headingAt({ delimiter, rows }: Candidate, heading: CsvRow): Heading {
  const titles = rows
    .filter(({ linesAbove }) => linesAbove < heading.linesAbove)
    .map(({ cells }) => cells.filter((cell) => cell !== '').join(' '))
    .filter((title) => title !== '');
  return { delimiter, skipLines: heading.linesAbove, titles };
}

function findAboveData(candidates: readonly Candidate[]): Heading | undefined {
  const found = candidates.flatMap((candidate) => {
    const { rows } = candidate;
    const first = rows.findIndex((row, index) => isData(row) && isDataAgain(rows, index));
    if (first < 0) return [];
    const width = rows[first]!.cells.length;
    const heading = bestOf(rows.slice(0, first), width);
    return heading ? [{ candidate, heading, width, data: rows.filter(isData).length }] : [];
  });
  const [best] = found.sort((one, other) => other.data - one.data || other.width - one.width);
  return best && headingAt(best.candidate, best.heading);
}

/**
 * The first row of several cells, with the delimiter that gives the most cells. An error then lists these
 * columns.
 */
function findWidest(candidates: readonly Candidate[]): Heading | undefined {
  const width = ({ rows }: Candidate) => Math.max(0, ...rows.map(({ cells }) => cells.length));
  const [widest] = candidates.toSorted((one, other) => width(other) - width(one));
  const row = widest!.rows.find(({ cells }) => cells.length > 1) ?? widest!.rows[0];
  return row && headingAt(widest!, row);
}

/**
 * The row with the most names. Of several the last one, because it stands next to the data. Units are not
 * names.
 */
function bestOf(lines: readonly CsvRow[], width: number): CsvRow | undefined {
  const candidates = lines
    .filter(({ cells }) => cells.length <= width + 1 && !cells.some((cell) => isTime(cell)))
    .map((line) => ({
      line,
      names: line.cells.filter((cell) => cell !== '' && !isNumber(cell) && parseUnit(cell) === undefined)
        .length,
    }))
    .filter(({ names }) => names >= 2 && names > NAMED_MIN * width);
  const most = Math.max(...candidates.map(({ names }) => names));
  return candidates.findLast(({ names }) => names === most)?.line;
}

function isData({ cells }: CsvRow): boolean {
  const time = cells.findIndex((cell) => isTime(cell));
  return time >= 0 && cells.some((cell, index) => index !== time && isNumber(cell));
}

/** A single row with a date may be a title. The only row of a file is data. */
function isDataAgain(lines: readonly CsvRow[], index: number): boolean {
  const next = lines.slice(index + 1).filter(({ cells }) => cells.some((cell) => cell !== ''));
  return next.length === 0 || next.slice(0, 3).some((line) => isData(line));
}

function isTime(cell: string): boolean {
  return /\d/.test(cell) && guessTimeFormat([cell]) !== undefined;
}

function isNumber(cell: string): boolean {
  return cell.length <= NUMBER_CHARACTERS_MAX && numberPattern.test(cell);
}

function firstRows(text: string, delimiter: string): CsvRow[] {
  const head = text
    .slice(0, CHARACTERS_MAX)
    .split(/\r\n|\n|\r/)
    .slice(0, LINES_MAX)
    .join('\n');
  const parsed = parseCsv(head, { delimiter, isLoose: true });
  return parsed.kind === 'rows' ? parsed.rows.filter(({ cells }) => cells.length <= HEADING_CELLS_MAX) : [];
}
