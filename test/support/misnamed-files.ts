import { posix } from 'node:path';
import type { SourceFile } from './find-imports.ts';
import { EXPORT } from './namesakes.ts';

const FUNCTION_OR_CLASS = /^export\s+(?:async\s+|abstract\s+)?(?:function|class)\b/gm;

/** Files of small things of one kind. They are named after the kind. */
const COLLECTIONS: readonly string[] = [
  'src/config/setting-types.ts',
  'src/http/query-schemas.ts',
  'src/pipeline/remote-operations.ts',
  'src/worker-rpc/remote-wire.ts',
  'src/worker-rpc/rpc-wire.ts',
];

/**
 * Files with exactly one exported function or class whose name shares no word with an exported name. A reader
 * who looks for such a name does not find its file.
 */
export function findMisnamedFiles(sources: readonly SourceFile[]): string[] {
  return sources
    .filter(({ path, text }) => text.match(FUNCTION_OR_CLASS)?.length === 1 && !COLLECTIONS.includes(path))
    .map(({ path, text }) => ({ path, names: [...text.matchAll(EXPORT)].map(({ groups }) => groups!.name!) }))
    .filter(({ path, names }) => !names.some((name) => shareWord(posix.parse(path).name, name)))
    .map(
      ({ path, names }) =>
        `${path} exports ${names.join(', ')}; give the file or the function a name with a word of the other`,
    );
}

function shareWord(file: string, name: string): boolean {
  const words = wordsOf(file);
  return wordsOf(name).some((word) => words.includes(word)) || name.toLowerCase().endsWith(file);
}

/** The words of a name, without their endings: `explained` and `explain` are one word. */
function wordsOf(name: string): string[] {
  return name
    .split(/[-_]|(?<=[a-z0-9])(?=[A-Z])/)
    .map((word) => word.toLowerCase().replace(/(?:ies|y|ed|s)$/, ''));
}
