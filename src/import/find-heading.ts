import { parse } from 'csv-parse/sync';
import { parseUnit } from '../lib/units.ts';
import { guessTime } from './guess-time.ts';

/** Where the table of a CSV file begins. */
export interface Heading {
  delimiter: string;
  /** Lines above the one that names the columns. */
  skipLines: number;
  /** The text of these lines, without empty cells; blank lines are left out. */
  titles: string[];
}

interface Line {
  /** Lines of the file before it. */
  before: number;
  cells: string[];
}

const delimiters = [';', ',', '\t', '|'] as const;
const LINES_MAX = 80;
/** A heading names more than this share of the columns; title lines that are padded with empty cells do not. */
const NAMED_MIN = 0.5;
const numberPattern = /^[+-]?[\d.,' ]*\d[\d.,]*([eE][+-]?\d+)?$/;

/**
 * Finds the line that names the columns: above the first rows that hold a time and a number, the one with the most names. Title lines
 * above it may be padded with delimiters to the width of the table, as spreadsheets do it.
 * @param text how the file begins
 * @returns undefined where no line is a heading, or no row is data
 */
export function findHeading(text: string): Heading | undefined {
  const found = delimiters.flatMap((delimiter) => {
    const lines = firstLines(text, delimiter);
    const data = lines.filter(isData);
    const first = lines.findIndex((line, index) => isData(line) && isDataAgain(lines, index));
    const heading = first < 0 ? undefined : bestOf(lines.slice(0, first), lines[first]!.cells.length);
    return heading
      ? [{ delimiter, heading, lines, data: data.length, width: lines[first]!.cells.length }]
      : [];
  });
  const [best] = found.sort((one, other) => other.data - one.data || other.width - one.width);
  if (!best) return undefined;
  const { delimiter, heading, lines } = best;
  const titles = lines
    .filter(({ before }) => before < heading.before)
    .map(({ cells }) => cells.filter((cell) => cell !== '').join(' '))
    .filter((title) => title !== '');
  return { delimiter, skipLines: heading.before, titles };
}

/** Of several with as many names the last: it stands next to the data. Units below the names are no names. */
function bestOf(lines: readonly Line[], width: number): Line | undefined {
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

function isData({ cells }: Line): boolean {
  const time = cells.findIndex((cell) => isTime(cell));
  return time >= 0 && cells.some((cell, index) => index !== time && isNumber(cell));
}

/** One line alone may be a title with a date. A file of one row ends there. */
function isDataAgain(lines: readonly Line[], index: number): boolean {
  const next = lines.slice(index + 1).filter(({ cells }) => cells.some((cell) => cell !== ''));
  return next.length === 0 || next.slice(0, 3).some((line) => isData(line));
}

function isTime(cell: string): boolean {
  return /\d/.test(cell) && guessTime([cell]) !== undefined;
}

function isNumber(cell: string): boolean {
  return numberPattern.test(cell);
}

function firstLines(text: string, delimiter: string): Line[] {
  const head = text
    .split(/\r\n|\n|\r/)
    .slice(0, LINES_MAX)
    .join('\n');
  let before = 0;
  try {
    const records = parse(head, {
      delimiter,
      bom: true,
      info: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: false,
      record_delimiter: '\n',
    }) as unknown as Array<{ record: string[]; info: { lines: number } }>;
    return records.map(({ record, info }) => {
      const line = { before, cells: record.map((cell) => cell.trim()) };
      before = info.lines;
      return line;
    });
  } catch {
    return [];
  }
}
