import { Help } from 'commander';

/** Longer lines are hard to read. */
const COLUMNS_MAX = 110;
/** A description that begins further right is not wrapped in its column. */
const DESCRIPTION_COLUMN_MAX = 40;
/** A shorter line of a paragraph ends on purpose. */
const FULL_LINE = 60;

const helper = Object.assign(new Help(), { minWidthToWrap: 1 });

/**
 * Formats help for a terminal: wraps paragraphs, and descriptions next to their terms. Other indented lines
 * are examples and stay as they are. Commander wraps only the help that it writes, and not what `addHelpText`
 * adds.
 */
export function wrapHelp(text: string, terminalColumns: number): string {
  const columns = Math.min(terminalColumns, COLUMNS_MAX);
  const lines = text.split('\n');
  if (lines.every((line) => line.length <= columns)) return text;
  const wrapped: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const { lead, words: first } = parse(lines[at]!);
    let words = first;
    if (words === undefined) {
      wrapped.push(lines[at]!);
      continue;
    }
    const hang = ' '.repeat(lead.length);
    while (goesOn(lines[at]!, lines[at + 1], hang)) {
      at += 1;
      words = `${words} ${lines[at]!.trim()}`;
    }
    wrapped.push(lead + helper.boxWrap(words, columns - lead.length).replaceAll('\n', `\n${hang}`));
  }
  return wrapped.join('\n');
}

/** @returns the text before the words of a paragraph or a description; no words if the line stays as it is */
function parse(line: string): { lead: string; words: string | undefined } {
  const [, lead = '', description] = /^( *\S+(?: \S+)* {2,})(\S.*)$/.exec(line) ?? [];
  if (description !== undefined)
    return lead.length <= DESCRIPTION_COLUMN_MAX
      ? { lead, words: description }
      : { lead: '', words: undefined };
  return { lead: '', words: line === '' || line.startsWith(' ') ? undefined : line };
}

/**
 * True if the next line belongs to the same paragraph, or to the description that begins in the column of
 * `hang`.
 */
function goesOn(line: string, next: string | undefined, hang: string): boolean {
  if (!next?.startsWith(hang) || next.trim() === '' || next.startsWith(`${hang} `)) return false;
  return line.length >= FULL_LINE && !line.endsWith(':') && !/\S {2,}\S/.test(next);
}
