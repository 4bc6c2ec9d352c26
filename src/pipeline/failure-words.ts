import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import { visibleText } from '../lib/visible-text.ts';
import { knownFailure } from '../warehouse/warehouse-failures.ts';

/** A failure as it is told to people: by `status`, by `/ready` and in the log. */
export interface ToldFailure {
  /** The error's own code; `Unexpected` for a fault of ours. */
  code: string;
  /** One line: what is wrong, whose it is as far as that is known, and what to do. No SQL, no JSON, no control characters. */
  message: string;
}

const CHARACTERS_MAX = 400;
/** Codes of errors whose text is not ours. */
const FOREIGN: ReadonlySet<string> = new Set(['WarehouseFailure', 'Unexpected']);
const UNEXPECTED_NEXT =
  'This is a fault of Wattline: it is tried again by itself, and what has landed is kept. If it stays, report it with the event job.failed of the log';

/** Tells anything that a stage has thrown in plain words. What is ours is told as it is; what comes from elsewhere is told by its kind. */
export function tellFailure(error: unknown): ToldFailure {
  const code = codeOf(error);
  const isOurs = error instanceof TransientError || error instanceof TerminalError;
  if (isOurs && !FOREIGN.has(code)) return { code, message: oneLine(withCulprit(error)) };
  const system = systemWords(error);
  if (system !== undefined) return { code, message: oneLine(system) };
  const path = isOurs && typeof error.details.path === 'string' ? error.details.path : 'the warehouse';
  const known = knownFailure(isOurs ? new Error(error.message) : error, path);
  if (known) return { code: known.code, message: oneLine(known.message) };
  return { code, message: oneLine(`${kindWords(errorMessage(error))}. ${UNEXPECTED_NEXT}`) };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'Unexpected';
}

/** Names what the details name and the message does not. */
function withCulprit({ message, details }: TransientError | TerminalError): string {
  const named = ['device', 'source', 'field'].flatMap((name) => {
    const value = details[name];
    return typeof value === 'string' && !message.includes(value) ? [`${name} ${value}`] : [];
  });
  return named.length > 0 ? `${message} (${named.join(', ')})` : message;
}

/** What the system refused, where the error says so. The message of such an error begins with its code. */
function systemWords(error: unknown): string | undefined {
  const found = /^(E[A-Z]{3,}): [^,]*, \w+(?: '([^']*)')?/.exec(errorMessage(error));
  if (!found) return undefined;
  const [, errno = '', path] = found;
  const where = path === undefined ? 'a file' : path;
  switch (errno) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `${where} cannot be written: the disk (or its quota) is full. Free some space and it goes on`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `${where} cannot be written: give this user the rights to the file and its folder`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${where} should be a folder, or lie in one, and a file is in its place: move that file away`;
    case 'EISDIR':
      return `${where} is a folder where a file should be: move it away`;
    case 'ENOENT':
      return `${where} is missing: it was removed, or its disk is not there; put it back`;
    case 'EMFILE':
    case 'ENFILE':
      return `${where} cannot be opened: this process has too many files open; raise the limit (ulimit -n)`;
    default:
      return `${where} cannot be used (${errno}): look at its disk and its rights`;
  }
}

/** The database's own words may hold values and SQL, so they are told by their kind. */
function kindWords(text: string): string {
  const zod = zodWords(text);
  if (zod !== undefined) return zod;
  const duplicate = /duplicate key "([^"]{1,200})"/i.exec(text);
  if (duplicate) return `stored rows contradict each other at ${duplicate[1]}`;
  if (/constraint/i.test(text)) return 'stored rows contradict each other';
  if (/out of range|overflow/i.test(text)) return 'a number is beyond what can be computed';
  if (/(Conversion|Invalid Input) Error/.test(text)) return 'a stored value cannot be read';
  if (/(Binder|Catalog|Parser) Error/.test(text))
    return 'the warehouse lacks tables that this version of Wattline expects';
  const file = /IO Error:.*?"([^"]+)"/.exec(text);
  if (file) return `the file ${file[1]} cannot be read or written`;
  if (/(IO|HTTP) Error/.test(text)) return 'a file cannot be read or written';
  if (/(INTERNAL|FATAL) Error/.test(text)) return 'the database failed';
  return 'an unknown error; its text is in the log only, because it may hold values';
}

/** What zod says is JSON: a list of what is wrong, with the path to it. */
function zodWords(text: string): string | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const [first] = JSON.parse(text) as Array<{ path?: unknown[]; message?: string }>;
    const path = (first?.path ?? []).map(String).join(', ');
    return `a value is not of the form that it must have${path && ` (at ${path})`}: ${first?.message ?? 'it is not valid'}`;
  } catch {
    return undefined;
  }
}

function oneLine(text: string): string {
  const line = visibleText(text.replace(/:\s*\n\s*/g, ': ').replace(/\s*\n\s*/g, '; '));
  return line.length > CHARACTERS_MAX ? `${line.slice(0, CHARACTERS_MAX)}…` : line;
}
