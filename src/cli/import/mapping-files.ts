import { existsSync, globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Document, isMap, isScalar, parse } from 'yaml';
import type { WorkgroupConfig } from '../../config/config.ts';
import { zodProblems } from '../../config/zod-problems.ts';
import { type Guess, guessFile } from '../../import/guess-file.ts';
import type { Reason } from '../../import/guess-reasons.ts';
import { checkPackedFile } from '../../import/hash-and-check-file.ts';
import { type Mapping, mappingSchema } from '../../import/import-mapping.ts';
import { openReader } from '../../import/open-reader.ts';
import { errorMessage, InputError } from '../../lib/errors.ts';
import { inWords } from '../../lib/input-words.ts';

const THREADS = 2;

/**
 * Expands paths and patterns to files, in order and without duplicates.
 * @throws InputError with all that match no file
 */
export function findFiles(named: readonly string[], cwd: string): string[] {
  const problems: Array<{ path: string; message: string }> = [];
  const files = named.flatMap((name) => {
    const path = resolve(cwd, name);
    if (existsSync(path)) return [path];
    const found = globSync(name, { cwd }).sort();
    if (found.length === 0)
      problems.push({ path: name, message: 'is neither a file nor a pattern that matches a file' });
    return found.map((file) => resolve(cwd, file));
  });
  if (problems.length > 0) throw new InputError('the list of files', problems);
  return [...new Set(files)];
}

/** @throws InputError with all problems of the mapping */
export function readMapping(path: string): Mapping {
  const what = `the mapping ${path}`;
  let content: unknown;
  try {
    content = parse(readFileSync(path, 'utf8'), { maxAliasCount: 100 });
  } catch (error) {
    const message = `cannot be read: ${errorMessage(error).split('\n')[0]?.replace(/:$/, '')}`;
    throw new InputError(what, [{ path: '', message }]);
  }
  const mapping = mappingSchema.safeParse(content, inWords);
  if (!mapping.success) throw new InputError(what, zodProblems(mapping.error));
  return mapping.data;
}

/** Guesses the meaning of the columns of a file. @throws InputError if that is not possible */
export async function guessFor(path: string, workgroup: WorkgroupConfig, table: string): Promise<Guess> {
  const reader = await openReader(path, { threads: THREADS });
  try {
    return await guessFile(reader, workgroup, table);
  } catch (error) {
    await checkPackedFile(path, new AbortController().signal);
    throw error;
  } finally {
    reader.close();
  }
}

/**
 * A mapping as a file to edit, without defaults.
 * @param reasons of a guess, written as comments
 */
export function mappingText(mapping: Mapping, reasons: readonly Reason[] = []): string {
  const { column, ...time } = mapping.time;
  const writtenMapping = {
    ...mapping,
    time: { column: column.length === 1 ? column[0] : column, ...time },
    ...(mapping.device.id !== undefined && { device: { id: mapping.device.id } }),
  };
  const defaults = mappingSchema.parse({ time: { column: '-' }, device: { id: '-' }, fields: { '-': '-' } });
  const text = Object.entries(writtenMapping).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(defaults[key as keyof Mapping]),
  );
  const document = new Document(Object.fromEntries(text));
  for (const { path, why } of reasons) comment(document, path, why);
  return document.toString({ lineWidth: 0 });
}

function comment(document: Document, path: readonly string[], text: string): void {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return;
  const key = parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path.at(-1))?.key;
  if (isScalar(key)) key.commentBefore = ` ${text}`;
}
