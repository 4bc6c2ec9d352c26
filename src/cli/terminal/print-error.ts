import { CommanderError } from 'commander';
import { errorCode, errorMessage, InputError, isRetryable, type Problem } from '../../lib/errors.ts';
import { visibleLines, visibleText } from '../../lib/visible-text.ts';
import type { Terminal } from '../../service/terminal.ts';

/**
 * Prints an error to standard error: in words, or with `json` as one line of JSON. Stacks and causes are
 * printed only for debugging.
 */
export function printError(
  error: unknown,
  terminal: Terminal,
  options: { json: boolean; debug: boolean },
): void {
  if (options.json) terminal.err(`${visibleText(JSON.stringify(describeError(error)))}\n`);
  else terminal.err(visibleLines(`wattline: ${inWords(error)}\n`));
  if (options.debug && !(error instanceof CommanderError)) terminal.err(`${stackOf(error)}\n`);
}

interface ErrorDescription {
  error: string;
  message: string;
  retryable: boolean;
  problems?: readonly Problem[];
}

function describeError(error: unknown): ErrorDescription {
  if (error instanceof CommanderError)
    return { error: 'Usage', message: usageMessage(error), retryable: false };
  const code = errorCode(error) ?? 'Failed';
  const message = errorMessage(error);
  if (error instanceof InputError) {
    const [firstLine = message] = message.split(':\n');
    return { error: code, message: firstLine, retryable: false, problems: error.problems };
  }
  return { error: code, message, retryable: isRetryable(error) };
}

function inWords(error: unknown): string {
  return error instanceof CommanderError ? usageMessage(error) : errorMessage(error);
}

function usageMessage(error: CommanderError): string {
  return error.message
    .replace(/^error: /, '')
    .replace(/^command-argument value '(.*)' is invalid for argument/, "'$1' is invalid for argument")
    .replace(/\s*\n\s*/g, ' ');
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
