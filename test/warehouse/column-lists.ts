import { without } from './chapter-heads.ts';

/** A list of columns at the end of the comment of a statement. */
export interface ColumnList {
  /** The table that the statement makes, or `Columns` for the rows that it returns or inserts. */
  title: string;
  /** Names, and `columns of <table>`. */
  items: string[];
  /** True if the list does not name all columns, because it says which columns of another table it omits. */
  isPartial: boolean;
}

/** A note further right has too little room. Then names with the same note stand on several lines. */
const NOTE_COLUMN_MAX = 60;

const HEADING = /^-- (Columns|[a-z_]+):(?: (.+))?$/;
const LINE = /^-- {3}(\S.*?)(?:( {3})\s*(\S.*))?$/;
const NAMES = /^(?:(?:<role>)?[a-z_0-9]+(?:, (?:<role>)?[a-z_0-9]+)*|columns of [a-z_]+)$/;

/** The lines of the comment at the beginning of a statement. */
function commentOf(text: string): string[] {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  return lines.slice(0, end);
}

/** The lists of columns in a comment of a statement. */
export function columnListsOf(text: string): ColumnList[] {
  const lists: ColumnList[] = [];
  for (const line of commentOf(text)) {
    const [, title, inline] = HEADING.exec(line) ?? [];
    if (title !== undefined) lists.push({ title, items: inline?.split(', ') ?? [], isPartial: false });
    const list = lists.at(-1);
    const [, names, , note] = LINE.exec(line) ?? [];
    if (list === undefined || names === undefined || !NAMES.test(names)) continue;
    list.items.push(...names.split(', '));
    list.isPartial ||= /^without\b/.test(note ?? '');
  }
  return lists;
}

/**
 * The faults in the form of the comment of a statement. They are columns that are described in prose,
 * parameters that are listed without `$`, text after a list, and lines of a list that are not names with a
 * note. All notes of a list must begin at one column, which is not too far right.
 */
export function formErrorsOf(text: string): string[] {
  const lines = commentOf(text);
  const start = lines.findIndex((line) => HEADING.test(line));
  const prose = lines.slice(0, start === -1 ? undefined : start);
  const words = prose.filter((line) => !line.startsWith('--   ')).map((line) => line.slice(3));
  const inProse = words.join(' ').match(/(?<=^|[.;] )\*?[a-z_]+(?:, [a-z_]+)*: .{0,20}/g) ?? [];
  const errors = inProse.map((found) => `not in a list: ${found}`);
  errors.push(...prose.filter((line) => /^-- Parameters\b/.test(line)).map((line) => `write $name: ${line}`));
  let noteAt: number | undefined;
  for (const line of start === -1 ? [] : lines.slice(start)) {
    const [heading, , inline] = HEADING.exec(line) ?? [];
    if (heading !== undefined) {
      noteAt = undefined;
      if (inline !== undefined && !NAMES.test(inline)) errors.push(`not a list of names: ${line}`);
    } else if (/^-- {6,}/.test(line)) {
      if (line.search(/(?<=-- +)[^ -]/) !== noteAt) errors.push(`not below its note: ${line}`);
    } else {
      const [, names, , note] = LINE.exec(line) ?? [];
      if (names === undefined || !NAMES.test(names)) errors.push(`not a line of a list: ${line}`);
      if (note === undefined) continue;
      noteAt ??= line.length - note.length;
      if (line.length - note.length !== noteAt) errors.push(`its note is at another column: ${line}`);
      if (noteAt > NOTE_COLUMN_MAX) errors.push(`its note is too far right; use more lines: ${line}`);
    }
  }
  return errors;
}

/** The names of the tables in `CREATE TEMP TABLE` of a statement. */
export const madeTables = (text: string) =>
  [...text.matchAll(/\bTEMP (?:TABLE|VIEW) ([a-z_]+)/g)].map(([, name]) => name!);

/**
 * The columns that the text of a statement gives to a table, or to its rows; undefined if the text does not
 * say them, because of a star.
 */
export function writtenColumns(text: string, title: string): string[] | undefined {
  const code = text.replaceAll(/--.*$/gm, '').replaceAll(/'[^']*'/g, "''");
  const [, declared] = new RegExp(`TEMP TABLE ${title} \\(([^;]+?)\\)(?:;|$)`).exec(code) ?? [];
  if (declared !== undefined) return declared.split(',').map((one) => one.trim().split(' ', 1)[0]!);
  const [, inserted] = /^\s*INSERT INTO [a-z_]+ \(([^)]*)\)/.exec(code) ?? [];
  if (inserted !== undefined) return inserted.split(',').map((one) => one.trim());
  const selected = /\bRETURNING\b(.*)$/s.exec(code)?.[1] ?? firstSelect(code);
  if (selected === undefined) return undefined;
  const names = splitOutside(selected, ',').map(
    (one) => /(?:^|[\s.])"?([a-z_0-9]+)"?$/.exec(one.trim())?.[1],
  );
  return names.includes(undefined) ? undefined : (names as string[]);
}

/** The list of the first SELECT that is not in brackets; undefined if a FROM is before it. */
function firstSelect(code: string): string | undefined {
  const [before, list] = splitOutside(code, 'SELECT');
  if (list === undefined || splitOutside(before!, 'FROM').length > 1) return undefined;
  return splitOutside(list.replace(/^\s*DISTINCT\b/, ''), 'FROM')[0];
}

/** Splits at a word or a sign that is not in brackets. */
function splitOutside(code: string, at: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const token of code.match(/\w+|\s+|[^\w\s]/g) ?? []) {
    if ('([{'.includes(token)) depth++;
    if (')]}'.includes(token)) depth--;
    if (depth === 0 && token === at) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts;
}

/** The differences between a list and the columns that it describes; none if both are the same. */
export function differencesOf(items: Iterable<string>, columns: readonly string[]): string[] {
  const listed = [...items];
  return [
    ...without(listed, new Set(columns)).map((name) => `no column: ${name}`),
    ...without(columns, new Set(listed)).map((name) => `not in the list: ${name}`),
  ];
}
