import { existsSync, globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { type WorkgroupConfig, zodProblems } from '../config.ts';
import { errorMessage, InputError } from '../errors.ts';
import { checkWhole } from '../import/content-hash.ts';
import { firstBytes } from '../import/first-bytes.ts';
import { guessMapping } from '../import/guess.ts';
import { type Mapping, mappingSchema } from '../import/mapping.ts';
import { openReader, type Reader } from '../import/reader.ts';
import { sampleFile } from '../import/sample.ts';
import { inWords } from '../input-words.ts';

const THREADS = 2;

/** The files that paths and patterns name, each once, in their order. @throws InputError with every one that names none */
export function findFiles(named: readonly string[], cwd: string): string[] {
  const problems: Array<{ path: string; message: string }> = [];
  const files = named.flatMap((name) => {
    const path = resolve(cwd, name);
    if (existsSync(path)) return [path];
    const found = globSync(name, { cwd }).sort();
    if (found.length === 0)
      problems.push({ path: name, message: 'is no file, and no pattern that any file matches' });
    return found.map((file) => resolve(cwd, file));
  });
  if (problems.length > 0) throw new InputError('the list of files', problems);
  return [...new Set(files)];
}

/** @throws InputError with everything that is wrong with it */
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

/** What the columns of a file seem to mean. @throws InputError where that cannot be told */
export async function guessFor(path: string, workgroup: WorkgroupConfig, table: string): Promise<Mapping> {
  const reader = await openReader(path, { threads: THREADS });
  try {
    const sample = await sampleFile(reader);
    // A file of one column may begin with lines about the table, which is wider.
    const below =
      sample.format === 'csv' && sample.columns.length === 1
        ? await guessBelow(reader, workgroup, table)
        : undefined;
    return below ?? guessMapping(reader.path, sample, workgroup, table);
  } catch (error) {
    await checkWhole(path, new AbortController().signal);
    throw error;
  } finally {
    reader.close();
  }
}

const HEADING_LINES_MAX = 30;

/** The mapping of a table that begins further down. */
async function guessBelow(
  reader: Reader,
  workgroup: WorkgroupConfig,
  table: string,
): Promise<Mapping | undefined> {
  const start = await firstBytes(reader.path, reader.kind.compression);
  const lines = Buffer.from(start).toString('latin1').replaceAll('\0', '').split('\n');
  for (let skipLines = 1; skipLines <= HEADING_LINES_MAX; skipLines++) {
    if ((lines[skipLines] ?? '').trim() === '') continue;
    try {
      const sample = await sampleFile(reader, skipLines);
      if (sample.columns.length > 1) return guessMapping(reader.path, sample, workgroup, table);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
    }
  }
  return undefined;
}

/** A mapping as a file to be edited, without what is so by default. */
export function mappingText(mapping: Mapping): string {
  const { column, ...time } = mapping.time;
  const shown = { ...mapping, time: { column: column.length === 1 ? column[0] : column, ...time } };
  const defaults = mappingSchema.parse({ time: { column: '-' }, device: { id: '-' }, fields: { '-': '-' } });
  const text = Object.entries(shown).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(defaults[key as keyof Mapping]),
  );
  return stringify(Object.fromEntries(text), { lineWidth: 0 });
}
