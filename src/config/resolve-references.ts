import { resolve } from 'node:path';
import type { Problem } from '../lib/errors.ts';
import { readNamedFile } from '../lib/read-named-file.ts';
import { MEBIBYTE } from '../lib/units.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface ReferenceContext {
  environment: Environment;
  /** Relative paths start at this folder. */
  base: string;
  /** References that cannot be resolved are added here. Empty text is put in their place. */
  problems: Problem[];
  /** The number of references that were found. */
  referenceCount?: number;
}

/** Bytes of a file that a setting names. A list of 10,000 meters has about 1 MiB. */
const FILE_BYTES_MAX = 16 * MEBIBYTE;

/**
 * Replaces `${NAME}` by the environment variable, and `{ file: path }` by the trimmed content of a file. Text
 * with a NUL character is a problem, because no path, name or secret can have one.
 */
export function resolveReferences(value: unknown, path: string, context: ReferenceContext): unknown {
  const at = (key: string | number) => (path ? `${path}.${key}` : String(key));
  if (typeof value === 'string') {
    const resolved = value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      context.referenceCount = (context.referenceCount ?? 0) + 1;
      const variable = context.environment[name];
      if (variable === undefined)
        context.problems.push({ path, message: `the environment has no variable ${name}` });
      return variable ?? '';
    });
    return withoutNul(resolved, 'contains a NUL character ("\\0" in YAML): remove it', path, context);
  }
  if (Array.isArray(value)) return value.map((item, index) => resolveReferences(item, at(index), context));
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === 'file') {
    context.referenceCount = (context.referenceCount ?? 0) + 1;
    const named = String((value as { file: unknown }).file);
    const file = withoutNul(
      named,
      'names a file with a NUL character ("\\0" in YAML): remove it',
      path,
      context,
    );
    if (file === '') return '';
    const content = readNamedFile(resolve(context.base, file), FILE_BYTES_MAX);
    if ('text' in content)
      return withoutNul(
        content.text.trim(),
        `the file ${file} contains a NUL character, so it is not text`,
        path,
        context,
      );
    context.problems.push({ path, message: `the file ${file} ${content.problem}` });
    return '';
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, resolveReferences(item, at(key), context)]),
  );
}

/** Adds a problem to the context, and returns an empty text, if the text contains a NUL. */
function withoutNul(text: string, message: string, path: string, { problems }: ReferenceContext): string {
  if (!text.includes('\0')) return text;
  problems.push({ path, message });
  return '';
}
