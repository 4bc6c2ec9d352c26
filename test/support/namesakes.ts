import { posix } from 'node:path';
import type { SourceFile } from './find-imports.ts';

/** The group `name` of the pattern is the name. */
export const EXPORT =
  /^export\s+(?:declare\s+)?(?:async\s+|abstract\s+)?(?:function\*?|const|let|class|interface|type)\s+(?<name>\w+)/gm;

/** File names that several files have. Such a name does not lead to one file. */
export function findNamesakes(sources: readonly SourceFile[]): string[] {
  return namesakes(sources.map(({ path }) => ({ name: posix.basename(path), path }))).map(({ paths }) =>
    paths.join(' and '),
  );
}

/**
 * Names of types, functions and constants that several files export. A type and its schema may share a file.
 */
export function findExportNamesakes(sources: readonly SourceFile[]): string[] {
  const names = sources.flatMap(({ path, text }) =>
    [...text.matchAll(EXPORT)].map((match) => ({ name: match.groups!.name!, path })),
  );
  return namesakes(names).map(
    ({ name, paths }) => `${name} is exported by ${paths.join(' and ')}; rename one of them, or share it`,
  );
}

function namesakes(
  named: ReadonlyArray<{ name: string; path: string }>,
): Array<{ name: string; paths: string[] }> {
  return [...Map.groupBy(named, ({ name }) => name)]
    .map(([name, files]) => ({ name, paths: [...new Set(files.map(({ path }) => path))] }))
    .filter(({ paths }) => paths.length > 1);
}
