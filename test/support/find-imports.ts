import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** One import statement, as found in a source file. */
export interface Import {
  file: string;
  line: number;
  text: string;
  /**
   * A path from the root of the project (`src/lib/time.ts`), or the name of a library (`@duckdb/node-api`).
   */
  target: string;
  isLibrary: boolean;
  typesOnly: boolean;
}

export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  path: string;
  text: string;
}

/** Reads the sources that the rules are about. */
export function readSources(root: string): SourceFile[] {
  return readFiles(root, ['src/**/*.{ts,tsx}', 'jobs/**/*.ts']);
}

/** Reads other files that import sources. */
export function readUsers(root: string): SourceFile[] {
  return readFiles(root, ['test/**/*.{ts,tsx}', 'bench/**/*.{ts,tsx}', '.ci/*.mjs', '*.ts']);
}

function readFiles(root: string, patterns: readonly string[]): SourceFile[] {
  return globSync(patterns, { cwd: root }).map((path) => ({
    path: path.replaceAll('\\', '/'),
    text: readFileSync(join(root, path), 'utf8'),
  }));
}

const STATEMENT = /^(?:import|export)\b(?<names>[^'";]*?)\bfrom\s*(['"])(?<from>[^'"]+)\2/gm;
const BARE = /^import\s*(['"])(?<from>[^'"]+)\1/gm;
const DYNAMIC = /\bimport\(\s*(['"`])(?<from>[^'"`]+)\1/g;

export function findImports({ path, text }: SourceFile): Import[] {
  const matches = [STATEMENT, BARE, DYNAMIC].flatMap((pattern) => [...text.matchAll(pattern)]);
  return matches
    .map((match): Import => {
      const { names = '', from = '' } = match.groups ?? {};
      const isLibrary = !from.startsWith('.');
      return {
        file: path,
        line: text.slice(0, match.index).split('\n').length,
        text: match[0].replace(/\s+/g, ' '),
        target: isLibrary ? libraryName(from) : posix.join(posix.dirname(path), from),
        isLibrary,
        typesOnly: isTypesOnly(names),
      };
    })
    .toSorted((a, b) => a.line - b.line);
}

/** `import type { … }`, or braces with only types. */
function isTypesOnly(names: string): boolean {
  if (/^\s+type\b/.test(names)) return true;
  const inBraces = /^\s*\{([^}]*)\}\s*$/.exec(names)?.[1];
  const listed = inBraces?.split(',').filter((name) => name.trim() !== '') ?? [];
  return listed.length > 0 && listed.every((name) => /^\s*type\s/.test(name));
}

function libraryName(from: string): string {
  return from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/');
}
