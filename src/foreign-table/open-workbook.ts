import { formatCount } from '../lib/format-count.ts';
import { DAY_MS } from '../lib/time.ts';
import { childNamed, elementsOf, type XmlElement, XmlError } from '../lib/xml-elements.ts';
import { type ZipArchive, ZipError } from './read-zip.ts';

/** A sheet of a workbook. */
export interface WorkbookSheet {
  name: string;
  isHidden: boolean;
  /**
   * The rows, in order, from the first row of the sheet on. A cell that is not there is ''.
   * @throws ZipError
   */
  rows(): AsyncGenerator<string[]>;
}

const FIRST_COLUMN_CODE = 64;
const COLUMNS_MAX = 16_384;
const ROWS_MAX = 1_048_576;
/** Sheets, relations, number formats and cell formats of a workbook, each. */
const DECLARED_MAX = 100_000;

/**
 * The sheets of an XLSX workbook (ECMA-376). Numbers keep the digits of the file, with a point. Cells with
 * the format of a date become `2026-11-20 13:05:00`, without a zone. Formulas have the value that was stored
 * last.
 * @param max the largest number of cells of a sheet, empty cells included, and of characters in all cells. A
 *   small file can have very many, and its cells can share one long text
 * @throws ZipError if the archive has no workbook
 */
export async function openWorkbook(
  archive: ZipArchive,
  max: { cells: number; characters: number },
): Promise<WorkbookSheet[]> {
  const workbook = await partOf(archive, 'xl/workbook.xml');
  if (workbook === undefined) throw new ZipError('is not a workbook: it has no xl/workbook.xml');
  const relations = (await partOf(archive, 'xl/_rels/workbook.xml.rels')) ?? '';
  const targets = new Map(
    readUpTo(DECLARED_MAX, relations, { name: 'Relationship' }, ({ attributes }) => [
      attributes.Id,
      attributes.Target ?? '',
    ]),
  );
  const is1904 = readUpTo(DECLARED_MAX, workbook, { name: 'workbookPr' }, ({ attributes }) =>
    ['1', 'true'].includes(attributes.date1904 ?? ''),
  ).includes(true);
  let shared: { texts: string[]; dates: boolean[] } | undefined;
  return readUpTo(DECLARED_MAX, workbook, { name: 'sheet' }, ({ attributes }) => ({
    name: withoutEscapes(attributes.name ?? ''),
    isHidden: ['hidden', 'veryHidden'].includes(attributes.state ?? ''),
    async *rows() {
      const target = targets.get(attributes['r:id'] ?? attributes.id);
      const path = target?.startsWith('/') ? target.slice(1) : `xl/${target}`;
      const xml = await partOf(archive, path);
      if (xml === undefined) throw new ZipError(`is damaged: it has no ${path}`);
      shared ??= { texts: await sharedTexts(archive, max.cells), dates: await dateStyles(archive) };
      const context = { ...shared, is1904, left: { ...max } };
      let row = 0;
      for (const element of elementsIn(xml, { name: 'row' })) {
        // Empty rows are not in the file. Messages name a row by its number.
        const number = Math.min(ROWS_MAX, Number(element.attributes.r ?? row + 1));
        for (; row + 1 < number; row++) yield [];
        row += 1;
        if (row > ROWS_MAX) throw new ZipError(`has more than ${formatCount(ROWS_MAX)} rows`);
        yield cellsOf(element, context);
      }
    },
  }));
}

async function partOf(archive: ZipArchive, path: string): Promise<string | undefined> {
  const bytes = await archive.read(path);
  return bytes?.toString('utf8').replace(/^\uFEFF/, '');
}

/** The elements of a name, and of a parent if one is given. */
interface WantedElements {
  name: string;
  parent?: string;
}

/** @throws ZipError if the text is damaged */
function* elementsIn(xml: string, { name, parent }: WantedElements): Generator<XmlElement> {
  try {
    yield* elementsOf(xml, name, parent);
  } catch (error) {
    throw error instanceof XmlError ? new ZipError(`is damaged: ${error.message}`) : error;
  }
}

/**
 * What `of` makes of the wanted elements.
 * @throws ZipError if there are more than `max`, because a small file can have very many empty ones
 */
function readUpTo<T>(max: number, xml: string, wanted: WantedElements, of: (element: XmlElement) => T): T[] {
  const read: T[] = [];
  for (const element of elementsIn(xml, wanted)) {
    if (read.length === max) throw new ZipError(`has more than ${formatCount(max)} elements ${wanted.name}`);
    read.push(of(element));
  }
  return read;
}

/** The text of all runs in an element, without the reading aids of Japanese (`rPh`). */
function textOf(element: XmlElement): string {
  return element.children
    .filter(({ name }) => name !== 'rPh')
    .map((child) => (child.name === 't' ? withoutEscapes(child.text) : textOf(child)))
    .join('');
}

/** Replaces escapes such as `_x000A_` by their characters (ECMA-376, part 1, section 22.9.2.19). */
function withoutEscapes(text: string): string {
  return text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

async function sharedTexts(archive: ZipArchive, max: number): Promise<string[]> {
  const xml = (await partOf(archive, 'xl/sharedStrings.xml')) ?? '';
  return readUpTo(max, xml, { name: 'si' }, textOf);
}

/** For each cell style: true if its number format shows a date or a time. */
async function dateStyles(archive: ZipArchive): Promise<boolean[]> {
  const xml = (await partOf(archive, 'xl/styles.xml')) ?? '';
  const formats = new Map(
    readUpTo(DECLARED_MAX, xml, { name: 'numFmt' }, ({ attributes }) => [
      Number(attributes.numFmtId),
      attributes.formatCode ?? '',
    ]),
  );
  return readUpTo(DECLARED_MAX, xml, { name: 'xf', parent: 'cellXfs' }, ({ attributes }) => {
    const id = Number(attributes.numFmtId ?? 0);
    const code = formats.get(id);
    return code === undefined ? isBuiltInDate(id) : isDateFormat(code);
  });
}

/** ECMA-376, part 1, section 18.8.30. The others are of East Asian versions. */
function isBuiltInDate(id: number): boolean {
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
}

/** True if a letter of a date is outside of quotes, brackets and escapes. */
function isDateFormat(code: string): boolean {
  return /[dmyhs]/i.test(code.replace(/"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]/gi, '').split(';')[0]!);
}

interface CellContext {
  texts: readonly string[];
  dates: readonly boolean[];
  is1904: boolean;
  /** How much may still be read. */
  left: { cells: number; characters: number };
}

function cellsOf(row: XmlElement, context: CellContext): string[] {
  const cells: string[] = [];
  let next = 0;
  for (const cell of row.children.filter(({ name }) => name === 'c')) {
    context.left.cells -= 1;
    const at = columnOf(cell.attributes.r) ?? next;
    if (at >= COLUMNS_MAX) continue;
    next = at + 1;
    const text = cellText(cell, context);
    context.left.characters -= text.length;
    if (Math.min(context.left.cells, context.left.characters) < 0)
      throw new ZipError('has too many cells, or texts that are too long; save the rows you need as CSV');
    // Cells that have only a format are often far to the right.
    if (text === '') continue;
    while (cells.length < at) cells.push('');
    cells[at] = text;
  }
  return cells;
}

/** @returns the column from 0 on of a place such as `AB12` */
function columnOf(place: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(place ?? '')?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (let index = 0; index < letters.length; index++)
    column = column * 26 + letters.charCodeAt(index) - FIRST_COLUMN_CODE;
  return column - 1;
}

function cellText(cell: XmlElement, { texts, dates, is1904 }: CellContext): string {
  const type = cell.attributes.t ?? 'n';
  if (type === 'inlineStr') return textOf(cell).trim();
  const stored = childNamed(cell, 'v');
  if (stored === undefined) return '';
  const value = withoutEscapes(stored.text);
  switch (type) {
    case 's':
      return (texts[Number(value)] ?? '').trim();
    case 'b':
      return value === '1' ? 'true' : 'false';
    // An error such as #N/A is not a value.
    case 'e':
      return '';
    case 'n':
      return dates[Number(cell.attributes.s ?? 0)] ? dateText(Number(value), is1904) : value;
    default:
      return value.trim();
  }
}

/**
 * Day 0. Day 60 is 1900-02-29, which never existed, so days before it are one day late. Nobody needs these
 * days here.
 */
const EPOCH_1900_MS = Date.UTC(1899, 11, 30);
const EPOCH_1904_MS = Date.UTC(1904, 0, 1);
/** Fractions of a day are not exact. */
const NEAR_MS = 5;

function dateText(days: number, is1904: boolean): string {
  const exactMs = Math.round((is1904 ? EPOCH_1904_MS : EPOCH_1900_MS) + days * DAY_MS);
  const second = Math.round(exactMs / 1_000) * 1_000;
  const ms = Math.abs(exactMs - second) <= NEAR_MS ? second : exactMs;
  const date = new Date(ms);
  if (!Number.isFinite(days) || Number.isNaN(date.getTime())) return String(days);
  const text = date.toISOString().replace('T', ' ').replace('Z', '').replace('.000', '');
  return days < 1 ? text.slice(11) : text;
}
