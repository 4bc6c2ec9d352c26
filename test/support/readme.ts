import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '..', '..');
export const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8');

/** The README's examples in a language, as they stand. */
export function readmeBlocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    (match) => match[1]!,
  );
}
