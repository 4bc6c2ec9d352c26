import { findImports, type SourceFile } from './find-imports.ts';

/**
 * Finds files that import each other in a circle. Imports of types count too, because none of these files can
 * be understood without the others.
 * @returns one line for each circle, with the files in the order of their imports
 */
export function findCircles(sources: readonly SourceFile[]): string[] {
  const imports = new Map(
    sources.map((source) => [source.path, findImports(source).map(({ target }) => target)]),
  );
  const circles: string[] = [];
  const seen = new Set<string>();
  const path: string[] = [];
  function visit(file: string): void {
    const start = path.indexOf(file);
    if (start >= 0) {
      circles.push([...path.slice(start), file].join(' -> '));
      return;
    }
    if (seen.has(file)) return;
    seen.add(file);
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
  }
  for (const file of imports.keys()) visit(file);
  return circles;
}
