import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '..', '..');

const atTheRoot = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md'];

/** The pages that people read: the README and the pages that it links, by their path from the root. */
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

/** The files of the project that a page links, by their path from the root. */
export function linksOf(page: string): string[] {
  return [...pages.get(page)!.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) =>
    join(dirname(page), path!),
  );
}

/** The links of a page to headings, as `path#heading`. The heading is on the same page or on another one. */
export function headingLinksOf(page: string): string[] {
  return [...pages.get(page)!.matchAll(/\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)/g)].map(
    ([, path, heading]) => `${path === undefined ? page : join(dirname(page), path)}#${heading}`,
  );
}

/** The names of the headings of a page in links, by the rule of GitHub. */
export function headingsOf(page: string): string[] {
  const text = pages.get(page)?.replace(/^```.*?^```/gms, '') ?? '';
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
