import type { Command } from 'commander';
import { bigintAsText } from '../../lib/json-text.ts';
import type { Terminal } from '../../service/terminal.ts';
import { globalOptions } from '../global-options.ts';

/** Writes the data of a command: one line of JSON where it was asked for, else text as wide as lines may be. */
export function printData(
  command: Command,
  terminal: Terminal,
  data: unknown,
  text: (columnsMax: number) => string,
): void {
  terminal.out(
    globalOptions(command).json ? `${toJson(data)}\n` : text(terminal.columns ?? Number.POSITIVE_INFINITY),
  );
}

/** Says something beside the data, to a person: not where JSON was asked for. */
export function printNote(command: Command, terminal: Terminal, note: string): void {
  if (!globalOptions(command).json) terminal.err(`wattline: ${note}\n`);
}

/** Offsets are larger than what JSON's numbers hold exactly, so they are text. */
function toJson(data: unknown): string {
  return JSON.stringify(data, bigintAsText);
}
