import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Problem } from '../lib/errors.ts';
import { cannotBeRead } from '../lib/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReferenceContext {
  environment: Environment;
  /** Relative paths start at this folder. */
  base: string;
  /** References that cannot be resolved are added here. Empty text is put in their place. */
  problems: Problem[];
  /** The number of references that were found. */
  found?: number;
}

/** Replaces `${NAME}` by the environment variable, and `{ file: path }` by the trimmed content of a file. */
export function resolveReferences(value: unknown, path: string, context: ReferenceContext): unknown {
  const at = (key: string | number) => (path ? `${path}.${key}` : String(key));
  if (typeof value === 'string') {
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      context.found = (context.found ?? 0) + 1;
      const found = context.environment[name];
      if (found === undefined)
        context.problems.push({ path, message: `the environment has no variable ${name}` });
      return found ?? '';
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => resolveReferences(item, at(index), context));
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === 'file') {
    context.found = (context.found ?? 0) + 1;
    const file = String((value as { file: unknown }).file);
    try {
      return readFileSync(resolve(context.base, file), 'utf8').trim();
    } catch (error) {
      context.problems.push({
        path,
        message: `the file ${file} ${cannotBeRead(error)}`,
      });
      return '';
    }
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, resolveReferences(item, at(key), context)]),
  );
}
