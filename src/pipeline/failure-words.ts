import { shortenText } from '../lib/clip-text.ts';
import { errorCode, errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import { visibleText } from '../lib/visible-text.ts';
import { knownFailure } from '../warehouse/warehouse-failures.ts';

/** A failure as `status`, `/ready` and the log show it. */
interface FailureDescription {
  /** The error's own code. `Unexpected` for a bug. */
  code: string;
  /** One line: the problem, its place if known, and what to do. Without SQL, JSON and control characters. */
  message: string;
}

const CHARACTERS_MAX = 400;
/** Codes of our errors that contain a text of another program. */
const FOREIGN: ReadonlySet<string> = new Set(['WarehouseFailure', 'Unexpected']);
const UNEXPECTED_NEXT =
  'This is a bug of Wattline. The stage is retried, and landed messages are kept. If the problem stays, report it with the event stage.failed of the log';

/** Describes any error of a stage. Our errors keep their text. Other errors are described by their kind. */
export function failureWords(error: unknown): FailureDescription {
  const code = errorCode(error) ?? 'Unexpected';
  const isOurs = error instanceof TransientError || error instanceof TerminalError;
  if (isOurs && !FOREIGN.has(code)) return { code, message: oneLine(withCulprit(error)) };
  const system = systemWords(error);
  if (system !== undefined) return { code, message: oneLine(system) };
  const path = isOurs && typeof error.details.path === 'string' ? error.details.path : 'the warehouse';
  const known = knownFailure(isOurs ? new Error(error.message) : error, path);
  if (known) return { code: known.code, message: oneLine(known.message) };
  return { code, message: oneLine(`${kindWords(errorMessage(error))}. ${UNEXPECTED_NEXT}`) };
}

/** Adds the names in the details that the message does not contain. */
function withCulprit({ message, details }: TransientError | TerminalError): string {
  const named = ['device', 'source', 'field'].flatMap((name) => {
    const value = details[name];
    return typeof value === 'string' && !message.includes(value) ? [`${name} ${value}`] : [];
  });
  return named.length > 0 ? `${message} (${named.join(', ')})` : message;
}

/**
 * The error of the operating system in words. Undefined if the error is not one: the message of such an error
 * begins with its code.
 */
function systemWords(error: unknown): string | undefined {
  const found = /^(E[A-Z]{2,}): [^,]*, \w+(?: '([^']*)')?/.exec(errorMessage(error));
  if (!found) return undefined;
  const [, errno = '', path] = found;
  const where = path === undefined ? 'a file' : path;
  switch (errno) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `${where} cannot be written: the disk (or its quota) is full. Free some space; the stage then continues`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `${where} cannot be written: give this user the permissions for the file and its folder`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${where} should be a folder or in a folder, but a file is in its place: move the file away`;
    case 'EISDIR':
      return `${where} is a folder, but a file is expected: move the folder away`;
    case 'ENOENT':
      return `${where} is missing: it was removed, or its disk is not mounted; restore it`;
    case 'EMFILE':
    case 'ENFILE':
      return `${where} cannot be opened: this process has too many files open; raise the limit (ulimit -n)`;
    default:
      return `${where} cannot be used (${errno}): check its disk and its permissions`;
  }
}

/** Errors of the database are described by their kind, because their text can contain values and SQL. */
function kindWords(text: string): string {
  const zod = zodWords(text);
  if (zod !== undefined) return zod;
  const duplicate = /duplicate key "([^"]{1,200})"/i.exec(text);
  if (duplicate) return `stored rows contradict each other at ${duplicate[1]}`;
  if (/constraint/i.test(text)) return 'stored rows contradict each other';
  if (/out of range|overflow/i.test(text)) return 'a number is too large';
  if (/(Conversion|Invalid Input) Error/.test(text)) return 'a stored value cannot be read';
  if (/(Binder|Catalog|Parser) Error/.test(text))
    return 'the warehouse lacks tables that this version of Wattline expects';
  const file = /IO Error:.*?"([^"]+)"/.exec(text);
  if (file) return `the file ${file[1]} cannot be read or written`;
  if (/(IO|HTTP) Error/.test(text)) return 'a file cannot be read or written';
  if (/(INTERNAL|FATAL) Error/.test(text)) return 'the database failed';
  return 'an unknown error; its text is only in the log, because it can contain values';
}

/** zod's message is JSON: a list of problems with their paths. */
function zodWords(text: string): string | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const [first] = JSON.parse(text) as Array<{ path?: unknown[]; message?: string }>;
    const path = (first?.path ?? []).map(String).join(', ');
    return `a value has the wrong form${path && ` (at ${path})`}: ${first?.message ?? 'it is not valid'}`;
  } catch {
    return undefined;
  }
}

function oneLine(text: string): string {
  const line = text.replace(/:\s*\n\s*/g, ': ').replace(/\s*\n\s*/g, '; ');
  return shortenText(visibleText(line), CHARACTERS_MAX);
}
