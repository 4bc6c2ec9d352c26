import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '..', '..');

const atTheRoot = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md'];

/** What people read: the README and the pages that it leads to, by path from the root. */
export const pages: ReadonlyMap<string, string> = new Map(
  [...atTheRoot, ...globSync('docs/*.md', { cwd: repositoryRoot }).sort()].map((path) => [
    path,
    readFileSync(join(repositoryRoot, path), 'utf8'),
  ]),
);

/** The examples of a page in a language, as they stand. */
export function blocksOf(page: string, language: string): string[] {
  return [...pages.get(page)!.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    (match) => match[1]!,
  );
}

/** The examples of all pages in a language. */
export function readmeBlocks(language: string): string[] {
  return [...pages.keys()].flatMap((page) => blocksOf(page, language));
}

/** Where the links of a page to files of the project lead, from the root. */
export function linksOf(page: string): string[] {
  return [...pages.get(page)!.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) =>
    join(dirname(page), path!),
  );
}

/** Links of a page to a heading, its own or that of another page, as `path#heading`. */
export function headingLinksOf(page: string): string[] {
  return [...pages.get(page)!.matchAll(/\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)/g)].map(
    ([, path, heading]) => `${path === undefined ? page : join(dirname(page), path)}#${heading}`,
  );
}

/** The names by which the headings of a page are linked, as GitHub makes them. */
export function headingsOf(page: string): string[] {
  const text = pages.get(page)?.replace(/^```.*?^```/gms, '') ?? '';
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
