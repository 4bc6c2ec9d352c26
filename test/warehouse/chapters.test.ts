import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readStatements } from '../../src/warehouse/load-sql.ts';
import { type Chapter, readChapters, without } from './chapter-heads.ts';

const root = join(import.meta.dirname, '../..');
const folders = readdirSync(join(root, 'sql')).filter((folder) => folder !== 'schema');
/** The web page runs no SQL, and names addresses of endpoints. */
const program = globSync(['src/**/*.ts', 'jobs/**/*.ts'], { cwd: root, exclude: ['src/web/**'] }).map(
  (path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8').replaceAll(/(?<!\S)\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''),
  }),
);

/**
 * What TypeScript names: `folder/statement` in quotes, and in src/rollup and src/explain, which run
 * statements of the roll-up, the bare name.
 */
const used = new Map<string, string>();
for (const { path, text } of program) {
  for (const [, name] of text.matchAll(/['"`]([a-z-]+\/[a-z_]+)['"`]/g)) {
    if (folders.includes(name!.split('/')[0]!)) used.set(name!, path);
  }
  if (!/^src\/(rollup|explain)\//.test(path)) continue;
  for (const [, name] of text.matchAll(
    /\b(?:run|runIf|readRows?|widen)(?:<[^(]*>)?\(\s*(?:[^'(]*context,\s*)?'([a-z_]+)'/g,
  ))
    used.set(`rollup/${name}`, path);
}

test('every statement that the program names exists', () => {
  const known = new Set(
    folders.flatMap((folder) =>
      [...readStatements(join(root, 'sql', folder)).keys()].map((name) => `${folder}/${name}`),
    ),
  );
  expect([...used].filter(([name]) => !known.has(name))).toEqual([]);
  expect(used.size).toBeGreaterThan(300);
});

describe.each(folders)('sql/%s', (folder) => {
  const statements = readStatements(join(root, 'sql', folder));
  const quoted = program.filter(({ path }) => /^src\/rollup\//.test(path));

  test('has no statement that the program does not use', () => {
    const isUsed = (name: string) =>
      used.has(`${folder}/${name}`) ||
      (folder === 'rollup' && quoted.some(({ text }) => text.includes(`'${name}'`)));
    expect([...statements.keys()].filter((name) => !isUsed(name))).toEqual([]);
  });

  test('has statements with names in snake_case and a comment on each', () => {
    const wrong = [...statements].filter(
      ([name, text]) => !/^[a-z]+(_[a-z]+)*$/.test(name) || !/^-- \S/.test(text),
    );
    expect(wrong.map(([name]) => name)).toEqual([]);
  });

  test('has statements that begin with a keyword in upper case and end with a semicolon', () => {
    const wrong = globSync('*.sql', { cwd: join(root, 'sql', folder) }).flatMap((file) => {
      const [, ...texts] = readFileSync(join(root, 'sql', folder, file), 'utf8').split(/^-- name: /m);
      return texts.filter((text) => !/^[a-z_]+\n(?:--[^\n]*\n)*[A-Z]{3}.*;\s*$/s.test(text));
    });
    expect(wrong.map((text) => text.split('\n', 1)[0])).toEqual([]);
  });

  test('has keywords in upper case', () => {
    const code = [...statements.values()].map((text) => text.replaceAll(/--.*$|'[^']*'|"[^"]*"/gm, ''));
    const lower =
      /(?<![\w.$])(?:select|from|where|join|on|using|group|order|having|insert|update|delete|create|case|when|then|else|and|or|not|null|is|in)(?![\w(.])/g;
    expect(code.flatMap((text) => text.match(lower) ?? [])).toEqual([]);
  });

  test('consists of numbered chapters with the headings Reads, Writes and Why', () => {
    for (const file of globSync('*.sql', { cwd: join(root, 'sql', folder) })) {
      expect(file).toMatch(/^\d\d_[a-z_]+\.sql$/);
      const [heading] = readFileSync(join(root, 'sql', folder, file), 'utf8').split(/^-- name: /m);
      expect(heading).toMatch(
        new RegExp(
          `^-- ${basename(file).slice(0, 2)} [A-Z][^:\\n]*: [^\\n]+(\\n-- [^\\n]+)*\\n--\\n-- Reads   [^]*\\n-- Writes  [^]*\\n-- Why     `,
        ),
      );
    }
  });
});

test('no line of a statement is longer than 120 characters or ends with a space', () => {
  const wrong = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name, text]) =>
      text
        .split('\n')
        .flatMap((line) =>
          line.length > 120 || /\s$/.test(line) ? [`${folder}/${name}: ${line.trim()}`] : [],
        ),
    ),
  );
  expect(wrong).toEqual([]);
});

test('a CASE of several lines has each of its parts on a separate line', () => {
  const broken = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name, text]) =>
      text.split('\n').flatMap((line) => {
        const code = line.replaceAll(/--.*$|'[^']*'/g, '');
        const isOpen = (code.match(/\bCASE\b/g) ?? []).length > (code.match(/\bEND\b/g) ?? []).length;
        return isOpen && !/\bCASE(?: [a-z_.]+)?$/.test(code) ? [`${folder}/${name}: ${line.trim()}`] : [];
      }),
    ),
  );
  expect(broken).toEqual([]);
});

test('a union compares columns by name', () => {
  const byPlace = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name, text]) =>
      /\bUNION ALL\b(?! BY NAME)/.test(text.replaceAll(/--.*$/gm, '')) ? [`${folder}/${name}`] : [],
    ),
  );
  expect(byPlace).toEqual([]);
});

test('an insert of a query is by name, and an insert of values names its columns', () => {
  const byPlace = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name, text]) =>
      /\bINSERT INTO [a-z_]+(?! BY NAME\b| \([^()]*\)\s+VALUES\b)\b/.test(text.replaceAll(/--.*$/gm, ''))
        ? [`${folder}/${name}`]
        : [],
    ),
  );
  expect(byPlace).toEqual([]);
});

test('a step of a WITH clause begins with a comment', () => {
  const bare = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name, text]) =>
      [
        ...text.matchAll(
          /(?:\bWITH|\),) ([a-z_]+)(?: \([a-z_, ]+\))? AS (?:(?:NOT )?MATERIALIZED )?\(\n(?! *-- )/g,
        ),
      ].map(([, step]) => `${folder}/${name}: ${step}`),
    ),
  );
  expect(bare).toEqual([]);
});

test('lengths of time, limits and shares have a name: a parameter, a macro or a column', () => {
  /** They give names to numbers. */
  const naming = ['balance/find_rule', 'import/create_file_macros', 'rollup/create_value_macros'];
  // 1000 converts between units, and 0.5 is the median.
  const unnamed =
    /(?<![\w.])(?:\d+ \* \d+|(?!1000\b)\d{4,}|0\.(?!5\b)\d+|1e\d+)\b|\bLIMIT (?![01]\b|\d+ \*)\d+/g;
  const found = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name, text]) =>
      naming.includes(`${folder}/${name}`)
        ? []
        : [...text.replaceAll(/--.*$|'[^']*'/gm, '').matchAll(unnamed)].map(
            ([number]) => `${folder}/${name}: ${number}`,
          ),
    ),
  );
  expect(found).toEqual([]);
});

test('the name of a statement begins with a verb', () => {
  const verbs =
    `add advance answer apply begin bind check choose classify clear close collect correct count create declare
    defer delete describe divide drop enter expire extend extract find finish flag forget group judge leave list
    load mark move note omit read reject release replace request restore round select set store substitute sum
    summarize take touch trim update verify`.split(/\s+/);
  const others = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name]) =>
      verbs.includes(name.split('_')[0]!) ? [] : [`${folder}/${name}`],
    ),
  );
  expect(others).toEqual([]);
});

test('a statement that fills a table is not named like one that returns rows', () => {
  const returning = /\/(?:find|list|count|sum|answer|select|read)_/;
  const all = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].map(([name, text]) => ({
      name: `${folder}/${name}`,
      changes: /^(?:CREATE|INSERT|UPDATE|DELETE|MERGE)\b/m.test(text),
    })),
  );
  expect(all.filter(({ name, changes }) => changes && returning.test(name))).toEqual([]);
  expect(all.filter(({ name, changes }) => !changes && name.includes('/collect_'))).toEqual([]);
});

test('the alias of a table stands after AS', () => {
  const found = folders.flatMap((folder) =>
    [...readStatements(join(root, 'sql', folder))].flatMap(([name, text]) =>
      [
        ...text
          .replaceAll(/--.*$|'[^']*'/gm, '')
          .matchAll(/\b(?:FROM|JOIN) [a-z_]+(?:\([^()]*\))? [a-z]\w*/g),
      ].map(([alias]) => `${folder}/${name}: ${alias}`),
    ),
  );
  expect(found).toEqual([]);
});

describe('the head of a chapter', () => {
  const chapters = folders.flatMap((folder) => readChapters(join(root, 'sql', folder), folder));
  const readBy = (table: string, except?: Chapter) =>
    chapters.some((chapter) => chapter !== except && chapter.reads.has(table));
  /**
   * A chapter without its own table has parts of larger statements. Their names are given where these are
   * composed.
   */
  const isOfParts = (chapter: Chapter) => chapter.writes.size === 0;

  test.each(chapters)('of $path names in Reads what its statements read', (chapter) => {
    const { head, reads } = chapter;
    const made = isOfParts(chapter) ? head.writes : chapter.temporary;
    expect({
      missing: without(reads, head.reads).filter((table) => !made.has(table)),
      wrong: without(head.reads, reads),
    }).toEqual({ missing: [], wrong: [] });
  });

  test.each(chapters)('of $path names in Writes what its statements write', (chapter) => {
    const { head, writes, temporary } = chapter;
    const isForOthers = (table: string) => !temporary.has(table) || readBy(table, chapter);
    expect({
      missing: without(writes, head.writes).filter(isForOthers),
      wrong: without(head.writes, writes).filter((table) => !isOfParts(chapter) || !readBy(table)),
    }).toEqual({ missing: [], wrong: [] });
  });

  test('and the comments of its statements explain parameters that exist', () => {
    const unknown = chapters.flatMap(({ path, unknownParameters }) =>
      unknownParameters.map((parameter) => `${path} ${parameter}`),
    );
    expect(unknown).toEqual([]);
  });
});
