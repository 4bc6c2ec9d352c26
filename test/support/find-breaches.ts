import { entryPoints, libraryHomes, type Part, parts, readsConfig, starters } from './architecture.ts';
import { findImports, type Import, type SourceFile } from './find-imports.ts';

/**
 * Checks the rules of the architecture.
 * @param dependencies the libraries that package.json declares for use at run time
 * @returns one line for each breach: the file, its import, and the rule that it breaks
 */
export function findBreaches(sources: readonly SourceFile[], dependencies: readonly string[]): string[] {
  return sources.flatMap((source) => [
    ...findImports(source).flatMap((found) => {
      const rule = found.isLibrary ? brokenLibraryRule(found, dependencies) : brokenDirectionRule(found);
      return rule ? [`${found.file}:${found.line}: ${found.text}  <- ${rule}`] : [];
    }),
    ...findEnvironmentUse(source),
  ]);
}

function brokenDirectionRule({ file, target, typesOnly }: Import): string | undefined {
  if (isIn(file, entryPoints)) return undefined;
  if (isIn(target, entryPoints)) return 'only entry points use entry points';
  if (isIn(file, starters)) return undefined;
  if (isIn(target, starters)) return 'only entry points start the parts';
  const from = partOf(file);
  const to = partOf(target);
  if (!from) return `${file} belongs to no part; add it to test/support/architecture.ts`;
  if (!to) return `${target} belongs to no part of the product`;
  if (to.name === 'jobs' && from.name !== 'jobs') return 'src never uses jobs';
  if (from !== to && !from.mayUse.includes(to.name))
    return `${from.name} may use ${from.mayUse.join(', ') || 'nothing'}, not ${to.name}`;
  if (from.typesOnly && to !== from && !typesOnly)
    return `${from.name} runs in a browser and may use only types of ${to.name}`;
  if (readsConfig.includes(target) && from.name !== 'config' && !typesOnly)
    return 'only entry points read the configuration; types are fine';
  return undefined;
}

function brokenLibraryRule(found: Import, dependencies: readonly string[]): string | undefined {
  const { file, target, typesOnly } = found;
  if (target.startsWith('node:')) return undefined;
  // The libraries of the page are built into its files, so an installed package does not need them.
  const isBuiltIn = file.startsWith('src/web/');
  if (!isBuiltIn && !dependencies.includes(target)) return `${target} is not a dependency in package.json`;
  if (isIn(file, [...entryPoints, ...starters])) return undefined;
  const home = libraryHomes[target];
  if (!home) return `${target} has no home yet; give it one in test/support/architecture.ts`;
  if (isIn(file, home.homes) || (typesOnly && isIn(file, home.types ?? []))) return undefined;
  return `${target} lives in ${home.homes.join(', ')}`;
}

function findEnvironmentUse({ path, text }: SourceFile): string[] {
  if (isIn(path, entryPoints)) return [];
  return text.split('\n').flatMap((line, index) => {
    if (!/\bprocess\.env\b/.test(line)) return [];
    return [`${path}:${index + 1}: ${line.trim()}  <- only entry points read the environment`];
  });
}

function partOf(path: string): Part | undefined {
  return parts.find(({ paths }) => isIn(path, paths));
}

function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));
}
