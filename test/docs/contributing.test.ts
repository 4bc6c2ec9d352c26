import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import biome from '../../biome.json' with { type: 'json' };
import packageFile from '../../package.json' with { type: 'json' };
import { exitCodes, exitCodesHelp } from '../../src/cli/terminal/exit-codes.ts';
import { goldenCases } from '../rollup/golden.ts';
import { noteSoakFiles, onlyInSoak } from '../support/only-in-soak.ts';
import { readSqlFiles } from '../support/read-sql-files.ts';
import { pages, repositoryRoot } from '../support/readme.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');
const page = pages.get('CONTRIBUTING.md')!;
const decisive = pages.get('docs/what-decides.md')!;
const testing = pages.get('docs/testing.md')!;

/** The frequent changes of CONTRIBUTING.md, and the recipes of docs/changing-the-code.md. */
const recipes = [
  { from: 'CONTRIBUTING.md', heading: 'The five most frequent changes' },
  { from: 'docs/changing-the-code.md', heading: 'Recipes: which files, in which order' },
].flatMap(({ from, heading }) =>
  pages
    .get(from)!
    .split(`\n## ${heading}\n`)[1]!
    .split('\n## ')[0]!
    .split('\n### ')
    .slice(1)
    .map((text) => ({ from, text: text.trimEnd() })),
);
/** The path from the root of a file that a page links. */
const pathFrom = (from: string, link: string) => join(dirname(from), link);

test.each([
  ['CONTRIBUTING.md', page],
  ['docs/testing.md', testing],
])('scripts, tests and cases that %s names exist', (_, page) => {
  const scripts = [...page.matchAll(/`npm (?:run (?:-s )?)?([a-z:]+)/g)].map(([, name]) => name!);
  expect(scripts.filter((name) => !(name in packageFile.scripts))).toEqual([]);
  for (const [, path] of page.matchAll(/vitest run (\S+?\.test\.ts)/g)) expect(read(path!)).not.toBe('');
  const ids = new Set(goldenCases().map(({ id }) => id));
  expect([...page.matchAll(/WATTLINE_TEST_CASE=(\S+)/g)].map(([, id]) => ids.has(id!))).toEqual([true]);
});

test('each recipe names its files in order', () => {
  expect(recipes.filter(({ from }) => from === 'CONTRIBUTING.md').length).toBe(5);
  expect(recipes.length).toBeGreaterThanOrEqual(20);
  for (const { text } of recipes) {
    const [what, ...steps] = text.split(/\n+(?! )/);
    const numbers = steps.map((step) => Number(/^(\d+)\. /.exec(step)?.[1]));
    expect(numbers, what).toEqual(numbers.map((_, index) => index + 1));
    expect([...text.matchAll(/\]\(/g)].length, what).toBeGreaterThanOrEqual(3);
  }
});

test('what a recipe, or the table of behaviours, says to be in a file or folder is there', () => {
  const named = [...recipes, { from: 'docs/what-decides.md', text: decisive }].flatMap(({ from, text }) =>
    [...text.matchAll(/((?:`\w+` and )?`\w+`)\s+(?:of|in)\s+\[[^\]]+\]\(([^)#]+)\)/g)].flatMap(
      ([, names, link]) =>
        [...names!.matchAll(/\w+(?=`)/g)].map(([name]) => ({ name, path: pathFrom(from, link!) })),
    ),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ name, path }) => !new RegExp(`\\b${name}\\b`).test(read(path)))).toEqual([]);

  /**
   * The folders of statements to which the files of a recipe belong: chapters lie in one, code loads from
   * them.
   */
  const foldersOf = ({ from, text }: (typeof recipes)[number]) =>
    [...text.matchAll(/\]\(([^)#]+\.(?:sql|ts))\)/g)].flatMap(([, link]) => [
      dirname(pathFrom(from, link!)),
      ...[...read(pathFrom(from, link!)).matchAll(/loadSql\(['`](\w[\w-]*)\//g)].map(
        ([, folder]) => `sql/${folder}`,
      ),
    ]);
  const folders = recipes.flatMap((recipe) =>
    [...recipe.text.matchAll(/`(sql\/[\w-]+)\/`/g)].map(([, folder]) => ({ folder: folder!, recipe })),
  );
  expect(folders.length).toBeGreaterThan(0);
  for (const { folder, recipe } of folders)
    expect([recipe.text.split('\n')[0], foldersOf(recipe)]).toEqual([
      recipe.text.split('\n')[0],
      expect.arrayContaining([folder]),
    ]);
});

test('a file of the soak that a command names is left out, and refused if nothing else is named', () => {
  const [path] = onlyInSoak;
  const words = `only in the soak: ${path}; run: WATTLINE_SOAK=1 vitest run ${path}`;
  for (const named of [path!, `./${path}`, join(repositoryRoot, path!), basename(path!)]) {
    expect(() => noteSoakFiles(['run', named, '-t', 'a name', '--outputFile=a/b'])).toThrow(words);
    for (const other of ['test/lib/time.test.ts', 'test/lib', 'golden.test'])
      expect(noteSoakFiles(['run', other, named])).toBe(words);
  }
  expect(noteSoakFiles(['run', 'test/lib/time.test.ts', '-t', 'soak', dirname(path!)])).toBeUndefined();
  expect(noteSoakFiles(['run'])).toBeUndefined();
});

test('the table of faults has the numbers of the tests: together 50 in the full set and 500 in the soak', () => {
  const faults = testing.split('\n### Faults')[1]!;
  const rows = [...faults.matchAll(/^\| \[.+?\]\(\.\.\/(test\/\S+)\) \| .+ \| (\d+) \| (\d+) \|$/gm)];
  const counts = rows.map(([, path, usual, soak]) => ({
    path: path!,
    usual: Number(usual),
    soak: Number(soak),
  }));
  for (const { path, usual, soak } of counts) {
    const pairs = [...read(path).matchAll(/\brounds\((\d+), (\d+)\)/g)];
    const product = (part: 1 | 2) => pairs.reduce((all, pair) => all * Number(pair[part]), 1);
    if (usual !== soak) expect({ path, usual: product(1), soak: product(2) }).toEqual({ path, usual, soak });
  }
  expect(counts.reduce((sum, { usual }) => sum + usual, 0)).toBeGreaterThanOrEqual(50);
  expect(counts.reduce((sum, { soak }) => sum + soak, 0)).toBeGreaterThanOrEqual(500);
});

test('each test that runs only in the soak is listed, with tests that run always', () => {
  const listed = testing.split('\n| only in `test:soak` |')[1]!.split('\n\n')[0]!;
  const rows = [...listed.matchAll(/^\| \[.+?\]\(\.\.\/(test\/\S+)\) \| .+? \| (.+) \|$/gm)];
  expect(rows.map(([, path]) => path).sort()).toEqual([...onlyInSoak].sort());
  for (const [, path, instead] of rows) {
    const others = [...instead!.matchAll(/\]\(\.\.\/(test\/\S+?)\)/g)].map(([, other]) => other!);
    expect(others.length, path).toBeGreaterThan(0);
    expect(others.filter((other) => onlyInSoak.includes(other))).toEqual([]);
  }
});

test('each folder of SQL has first tests, which run always and reach a module that reads it', () => {
  const listed = testing.split('\n| chapters in |')[1]!.split('\n\n')[0]!;
  const rows = [...listed.matchAll(/^\| `sql\/(\S+)` \| (.+) \|$/gm)];
  expect(rows.map(([, folder]) => folder)).toEqual(readdirSync(join(repositoryRoot, 'sql')).sort());
  for (const [, folder, tests] of rows) {
    const paths = [...tests!.matchAll(/\]\(\.\.\/(test\/\S+?)\)/g)].map(([, path]) => path!);
    expect(paths.length, folder).toBeGreaterThan(0);
    expect(paths.filter((path) => onlyInSoak.includes(path))).toEqual([]);
    expect(paths.filter((path) => !sqlFoldersOf(path).has(folder!))).toEqual([]);
  }
});

/** The folders of `sql` that a test, or a module that it imports, reads. */
function sqlFoldersOf(test: string): Set<string> {
  const folders = new Set<string>();
  const paths = new Set([test]);
  for (const path of paths) {
    const code = read(path);
    for (const chapter of readSqlFiles(code)) folders.add(basename(dirname(chapter)));
    for (const [, module] of code.matchAll(/(?:from |import\()'(\.{1,2}\/[^']+\.ts)'/g))
      paths.add(join(dirname(path), module!));
  }
  return folders;
}

test('benchmarks that docs/testing.md names exist', () => {
  const help = execFileSync(process.execPath, ['bench/run.ts', '--help'], {
    cwd: repositoryRoot,
    encoding: 'utf8',
    timeout: 120_000,
  });
  const known = new Set(/^Names: (.*)$/m.exec(help)![1]!.split(', '));
  const named = testing.split('\n| benchmark | shows |\n')[1]!.split('\n\n')[0]!;
  const names = [...named.matchAll(/^\| `([\w-]+)/gm)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(3);
  expect([...names, 'decode'].filter((name) => !known.has(name))).toEqual([]);
});

test('docs/commands.md has the exit codes of --help', () => {
  const listed = [...pages.get('docs/commands.md')!.matchAll(/^\| (\d) \| (.*) \|$/gm)].map(
    ([, code, meaning]) => `  ${code}  ${meaning}`,
  );
  expect(listed).toEqual(exitCodesHelp.split('\n').filter((line) => /^ {2}\d/.test(line)));
  expect(listed).toHaveLength(Object.keys(exitCodes).length);
});

test('docs/commands.md has the commands that there are, and no others', async () => {
  const { stdout } = await runCommand(['--help'], { cwd: tempDir() });
  const known = [
    ...stdout
      .split('\nCommands:\n')[1]!
      .split('\n\n')[0]!
      .matchAll(/^ {2}([a-z][a-z-]+)/gm),
  ].map(([, name]) => name!);
  const told = [...pages.get('docs/commands.md')!.matchAll(/^\| `wattline ([a-z-]+)/gm)].map(
    ([, name]) => name!,
  );
  expect(told.toSorted()).toEqual(known.filter((name) => name !== 'help').toSorted());
});

test('the check finds a promise that nobody waits for', () => {
  const folder = tempDir();
  writeFileSync(
    join(folder, 'forgetful.ts'),
    `const rounds = new Map<string, { stop(): Promise<void> }>();
    export async function stopAll(): Promise<void> {
      for (const round of rounds.values()) round.stop();
    }
    export async function tryToStop(): Promise<void> {
      try {
        return stopAll();
      } catch {}
    }`,
  );
  expect(packageFile.scripts.check).toMatch(/&& oxlint$/);
  const { status, stdout } = spawnSync('oxlint', ['--format', 'unix', '-c', '.oxlintrc.json', folder], {
    cwd: repositoryRoot,
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(
    [...stdout.matchAll(/forgetful\.ts:(\d+):.*\((\S+)\)/g)].map(([, line, rule]) => [line, rule]),
  ).toEqual([
    ['3', 'no-floating-promises'],
    ['7', 'return-await'],
  ]);
});

test('.editorconfig says what biome.json says', () => {
  const editor = read('.editorconfig');
  const { indentStyle, indentWidth, lineWidth } = biome.formatter;
  expect(editor).toContain(`\nindent_style = ${indentStyle}\nindent_size = ${indentWidth}\n`);
  expect(editor).toContain(`\n[*.{ts,mjs,json}]\nmax_line_length = ${lineWidth}\n`);
});

test.each([
  ['ci.yml', '.ci/run'],
  ['soak.yml', 'npm run test:soak'],
])('%s runs %s, with the Node that the package asks for', (file, command) => {
  const { jobs } = parse(read(`.github/workflows/${file}`));
  const steps: Array<{ run?: string; with?: Record<string, unknown> }> = jobs.all.steps;
  expect(steps.map(({ run }) => run)).toContain(command);
  const version = steps.find((step) => step.with?.['node-version'] !== undefined)!.with!['node-version'];
  expect(packageFile.engines.node).toMatch(new RegExp(`^>=${version}\\.`));
  expect(packageFile.devDependencies.node).toMatch(new RegExp(`^\\^${version}\\.`));
});

test('CI runs each test on one of its machines', () => {
  const { full } = parse(read('.github/workflows/ci.yml')).jobs;
  const parts: number[] = full.strategy.matrix.part;
  expect(parts).toEqual(parts.map((_, index) => index + 1));
  expect(full.steps.at(-1).run).toBe(`npm run test:full -- --shard=\${{ matrix.part }}/${parts.length}`);
});

test('.ci/slow-tests names files with slow tests', () => {
  for (const path of read('.ci/slow-tests').trim().split('\n'))
    expect(read(path)).toMatch(/@module-tag slow|tags: \['slow'\]/);
});

test('the license is the license of the package', () => {
  expect(packageFile.license).toBe('MIT');
  expect(read('LICENSE')).toMatch(/^MIT License\n\nCopyright \(c\) \d{4} The Wattline authors\n/);
});
