import { posix } from 'node:path';
import type { SourceFile } from './find-imports.ts';
import { EXPORT } from './namesakes.ts';

const WHOLE_FILE = /^export\s+(?:type\s+)?\*\s+from\s+'(?<from>[^']+)'/gm;

/** Exported names that no other file mentions. Other files are sources and `users`, such as tests. */
export function findUnusedExports(sources: readonly SourceFile[], users: readonly SourceFile[]): string[] {
  const filesWith = new Map<string, number>();
  const passedOn = new Set<string>();
  for (const { path, text } of [...sources, ...users]) {
    for (const word of new Set(text.match(/\w+/g))) filesWith.set(word, (filesWith.get(word) ?? 0) + 1);
    for (const { groups } of text.matchAll(WHOLE_FILE))
      passedOn.add(posix.join(posix.dirname(path), groups!.from!));
  }
  return sources
    .filter(({ path }) => !passedOn.has(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(EXPORT)]
        .map(({ groups }) => groups!.name!)
        .filter((name) => filesWith.get(name) === 1)
        .map((name) => `${name} of ${path} is exported, but no other file names it; remove the word export`),
    );
}
