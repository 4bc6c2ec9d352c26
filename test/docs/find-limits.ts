import { basename } from 'node:path';
import { readSources } from '../support/find-imports.ts';
import { repositoryRoot } from '../support/readme.ts';

/** Names that the values of other constants use. */
const units: Readonly<Record<string, number>> = {
  SECOND_MS: 1_000,
  MINUTE_MS: 60_000,
  HOUR_MS: 3_600_000,
  DAY_MS: 86_400_000,
  MEBIBYTE: 1_048_576,
};
const CONSTANT = /^(?:export )?const ([A-Za-z]\w*)(?:: [^=\n]+)? = ([^;{}[\]'"`]+);/gm;
const MEMBER = /(?:^ {2,6}|[{,] *)([a-z]\w*): ([\d_.*/ A-Z]+)(?=,$| *[,}])/gm;

/**
 * The numeric constants of the sources, and the numeric members of objects.
 * @returns by `<file> <name>`, such as `http-server.ts CONNECTIONS_MAX`; several values if an object repeats
 *   a name
 */
export function findConstants(): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const { path, text } of readSources(repositoryRoot)) {
    const known: Record<string, number> = { ...units };
    for (const pattern of [CONSTANT, MEMBER])
      for (const [, name, expression] of text.matchAll(pattern)) {
        const value = evaluate(expression!, known);
        if (value === undefined) continue;
        known[name!] = value;
        const key = `${basename(path)} ${name}`;
        found.set(key, [...(found.get(key) ?? []), value]);
      }
  }
  return found;
}

/** The value of an expression of numbers and known names. */
function evaluate(expression: string, known: Readonly<Record<string, number>>): number | undefined {
  const plain = expression
    .trim()
    .replace(/[A-Za-z]\w*/g, (name) => (Object.hasOwn(known, name) ? String(known[name]) : name));
  if (!/^[\d_.\s*/+()-]+$/.test(plain.replace(/\de\d/g, '0')) || !/\d/.test(plain)) return undefined;
  // Not a negative number, and not an address such as 0.0.0.0.
  if (!/^[\d(]/.test(plain) || /\d\.\d+\./.test(plain)) return undefined;
  const value: unknown = new Function(`return ${plain}`)();
  return typeof value === 'number' ? value : undefined;
}

/**
 * The constants that must be on the page, or be known to be internal: those with a name such as `ROWS_MAX` or
 * `rowsMax`, exported or not, and members of files such as `wire-limits.ts`. How much a view of the web page
 * draws is not a limit.
 */
export function findLimits(): string[] {
  return readSources(repositoryRoot).flatMap(({ path, text }) => {
    const file = basename(path);
    if (path.startsWith('src/web/')) return [];
    const constant = [...text.matchAll(/^(?:export )?const (\w+(?:_MAX|_LIMIT|Max)) =\s/gm)];
    const members = /(?<!learn|explain)-limits\.ts$/.test(file)
      ? [...text.matchAll(/^ {2}([a-z]\w*): /gm)]
      : [];
    return [...constant, ...members].map(([, name]) => `${file} ${name}`);
  });
}
