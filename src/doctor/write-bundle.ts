import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../lib/durable-files.ts';
import { cannotBeRead, errorCode, InputError } from '../lib/errors.ts';
import { bigintAsText } from '../lib/json-text.ts';
import type { WorkgroupState } from '../operate/workgroup-state.ts';
import type { Versions } from './check-versions.ts';
import type { DoctorFinding } from './run-checks.ts';

/** The maximum number of lines of the log, from its end. */
const LOG_LINES_MAX = 500;
/** The maximum number of bytes of the log that are read, from its end. */
const LOG_BYTES_MAX = 512 * 1024;
/** The maximum number of files of each folder that are counted. */
const COUNTED_FILES_MAX = 100_000;
/** Shorter texts are not hidden, because they occur everywhere by chance. */
const SECRET_CHARACTERS_MIN = 4;
const HIDDEN = '[secret]';

/** The facts that a person needs to help. They contain names, and no readings or energy. */
interface DoctorBundle {
  createdAt: string;
  versions: Versions;
  findings: DoctorFinding[];
  /** Without secrets. Undefined if it cannot be used. */
  configuration?: unknown;
  processes: unknown;
  workgroups: BundledWorkgroup[];
  folders: FolderSize[];
  log?: string[];
}

interface FolderSize {
  name: string;
  files: number;
  bytes: number;
}

/** The state of a workgroup, with the number of its newest imports. */
type BundledWorkgroup = Omit<WorkgroupState, 'newestImports' | 'lastHour'> & { newestImports: number };

/** The state of a workgroup without the energy that its imports have given. */
export function withoutImports({ newestImports, lastHour: _, ...state }: WorkgroupState): BundledWorkgroup {
  return { ...state, newestImports: newestImports.length };
}

/**
 * Writes a bundle as a JSON file that only this user can read.
 * @param secrets texts that must not be in it
 * @throws InputError if the file cannot be written
 */
export function writeBundle(path: string, bundle: DoctorBundle, secrets: readonly string[]): void {
  const plain: unknown = JSON.parse(JSON.stringify(bundle, bigintAsText));
  try {
    replaceFile(path, `${JSON.stringify(removeSecrets(plain, secrets), undefined, 2)}\n`);
  } catch (error) {
    throw new InputError('the command line', [
      { path: '--bundle', message: `${path} cannot be written (${errorCode(error)})` },
    ]);
  }
}

/**
 * Texts that are secret by their form: tokens (JWT), authorization, credentials in addresses, signatures of
 * requests.
 */
const SECRET_FORMS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, HIDDEN],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{4,}/gi, `$1 ${HIDDEN}`],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^/?#\s"']*@/gi, `$1${HIDDEN}@`],
  [/\b(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\s"']+/gi, `$1${HIDDEN}`],
  [/("?(?:password|secret|token|secretAccessKey)"?\s*[:=]\s*"?)(?!\[secret\])[^\s",}]+/gi, `$1${HIDDEN}`],
];

/** A copy of plain JSON in which no text has one of the secrets, or what looks like one. */
export function removeSecrets(value: unknown, secrets: readonly string[]): unknown {
  const secretTexts = secrets
    .filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
    // A secret can be a part of a longer one.
    .sort((a, b) => b.length - a.length);
  const clean = (text: string) => {
    let cleaned = text;
    for (const secret of secretTexts) cleaned = cleaned.replaceAll(secret, HIDDEN);
    for (const [form, shown] of SECRET_FORMS) cleaned = cleaned.replace(form, shown);
    return cleaned;
  };
  const walk = (part: unknown): unknown => {
    if (typeof part === 'string') return clean(part);
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [clean(key), walk(item)]));
  };
  return walk(value);
}

/** The last lines of a log. @throws InputError if the file cannot be read */
export function readLogEnd(path: string): string[] {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    throw new InputError('the command line', [{ path: '--log', message: `${path} ${cannotBeRead(error)}` }]);
  }
  try {
    const { size } = fstatSync(file);
    const length = Math.min(size, LOG_BYTES_MAX);
    const bytes = Buffer.alloc(length);
    const read = readSync(file, bytes, 0, length, size - length);
    const lines = bytes
      .toString('utf8', 0, read)
      .split('\n')
      .filter((line) => line !== '');
    // The first line may be cut.
    return (size > length ? lines.slice(1) : lines).slice(-LOG_LINES_MAX);
  } finally {
    closeSync(file);
  }
}

/** The folders directly below the data folder. Empty if it cannot be read. */
export async function measureFolders(dataDir: string): Promise<FolderSize[]> {
  const names = await readdir(dataDir).catch(() => []);
  const sizes: FolderSize[] = [];
  for (const name of names.sort()) {
    const listed = await readdir(join(dataDir, name), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    const files = listed.filter((entry) => entry.isFile()).slice(0, COUNTED_FILES_MAX);
    let bytes = 0;
    for (const entry of files)
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      );
    sizes.push({ name, files: files.length, bytes });
  }
  return sizes;
}
