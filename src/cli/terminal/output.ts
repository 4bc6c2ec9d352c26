import type { Command } from 'commander';
import { bigintAsText } from '../../lib/json-text.ts';
import { visibleData, visibleLines, visibleText } from '../../lib/visible-text.ts';
import type { Terminal } from '../../service/terminal.ts';
import { globalOptions } from '../global-options.ts';

/**
 * Writes the data of a command: one line of JSON with --json, else text within the width of the terminal.
 * Characters that would change what a terminal shows are escaped, because names come from senders of
 * messages.
 * @param text formats the data; its strings are escaped already, ends of lines included
 */
export function printData<Data>(
  command: Command,
  terminal: Terminal,
  data: Data,
  text: (columnsMax: number, shown: Data) => string,
): void {
  const columnsMax = terminal.columns ?? Number.POSITIVE_INFINITY;
  terminal.out(
    globalOptions(command).json
      ? `${visibleText(toJson(data))}\n`
      : visibleLines(text(columnsMax, visibleData(data))),
  );
}

/** Prints a note for a person. Not with --json. */
export function printNote(command: Command, terminal: Terminal, note: string): void {
  if (!globalOptions(command).json) terminal.err(visibleLines(`wattline: ${note}\n`));
}

/** Offsets become text, because JSON numbers cannot hold them exactly. */
function toJson(data: unknown): string {
  return JSON.stringify(data, bigintAsText);
}
