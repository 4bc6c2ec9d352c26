import type { Command } from 'commander';
import { bigintAsText } from '../../lib/json-text.ts';
import { visibleData, visibleLines, visibleText } from '../../lib/visible-text.ts';
import type { Terminal } from '../../service/terminal.ts';
import { globalOptions } from '../global-options.ts';

/**
 * Writes the data of a command: one line of JSON where it was asked for, else text as wide as lines may be. Names come from whoever sends
 * messages: characters that would change what a terminal shows are escaped.
 * @param text lays out the data as it is shown: what it is given has no such characters, ends of lines included
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

/** Says something beside the data, to a person: not where JSON was asked for. */
export function printNote(command: Command, terminal: Terminal, note: string): void {
  if (!globalOptions(command).json) terminal.err(visibleLines(`wattline: ${note}\n`));
}

/** Offsets are larger than what JSON's numbers hold exactly, so they are text. */
function toJson(data: unknown): string {
  return JSON.stringify(data, bigintAsText);
}
