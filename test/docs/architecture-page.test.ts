import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stageNames } from '../../jobs/stages.ts';
import { parts } from '../support/architecture.ts';
import { findImports, readSources } from '../support/find-imports.ts';
import { pages, repositoryRoot } from '../support/readme.ts';

const page = pages.get('docs/architecture.md')!;
const FILES_MAX = 9;
const foundation = ['lib', 'cbor', 'contract'];

/** The text below a heading, up to the next one of its level. */
function below(heading: string): string {
  const level = heading.slice(0, heading.indexOf(' ') + 1);
  return page.split(`\n${heading}\n`)[1]!.split(`\n${level}`)[0]!;
}

test('the figure of the parts has their arrows, without those that a longer way replaces', () => {
  const uses = new Map(
    parts.map(({ name, mayUse }) => [name, mayUse.filter((used) => !foundation.includes(used))]),
  );
  const leadsTo = (from: string, to: string): boolean =>
    uses.get(from)!.some((used) => used === to || leadsTo(used, to));
  const arrows = [...uses].flatMap(([name, used]) =>
    used.filter((to) => !used.some((other) => leadsTo(other, to))).map((to) => `${name} --> ${to}`),
  );
  const drawn = [...page.matchAll(/^ {2}([a-z-]+) --> (.+)$/gm)].flatMap(([, from, to]) =>
    to!.split(' & ').map((one) => `${from} --> ${one}`),
  );
  expect(drawn).toEqual(arrows);
});

test('the table of the parts is equal to the rules for imports', () => {
  expect(parts.slice(0, foundation.length).map(({ name }) => name)).toEqual(foundation);
  const rows = parts.map(({ name, paths, mayUse }, index) => {
    const isFoundation = index < foundation.length;
    if (!isFoundation) expect(mayUse).toEqual(expect.arrayContaining(foundation));
    const named = mayUse.filter((used) => isFoundation || !foundation.includes(used));
    return [name, [...paths], isFoundation && named.length === 0 ? ['nothing'] : named];
  });
  const told = [...below('## The parts').matchAll(/^\| `([a-z-]+)` \| (.*?) \|(.*?)\| .+ \|$/gm)].map(
    ([, name, paths, used]) => [name, words(paths!), used!.trim() === 'nothing' ? ['nothing'] : words(used!)],
  );
  expect(told).toEqual(rows);
});

const words = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!);

const isStage = (word: string) => stageNames.some((stage) => stage === word);

const ways = below('## The way of a message')
  .split('\n### ')
  .slice(1)
  .map((text) => ({
    name: text.split('\n')[0]!,
    files: [...text.matchAll(/^\d\. \[(.+?)\]\(\.\.\/(.+?)\)(.*(?:\n {3}.*)*)/gm)].map(
      ([, shown, path, says]) => ({
        shown,
        path: path!,
        helpers: words(says!).filter((word) => word.endsWith('.ts')),
        names: words(says!).filter((word) => /^[a-z]+(?:[A-Z][a-zA-Z]*)?$/.test(word)),
      }),
    ),
    count: [...text.matchAll(/^\d+\. /gm)].length,
  }));

const sources = readSources(repositoryRoot);
/** The path of a file that is named without its folder, since no two files have one name. */
const pathOf = (name: string) =>
  sources.find(({ path }) => basename(path) === name)?.path ?? `no file ${name}`;
const textOf = (path: string) => sources.find((source) => source.path === path)?.text ?? '';

const imports = sources.flatMap(findImports);
/** Pairs of files that an import connects, in both directions. */
const linksOf = (some: typeof imports) =>
  new Set(some.flatMap(({ file, target }) => [`${file} ${target}`, `${target} ${file}`]));
const links = linksOf(imports);
const valueLinks = linksOf(imports.filter(({ typesOnly }) => !typesOnly));

/**
 * Steps that no earlier step imports, because it is given them as an interface: the file that calls it, and
 * the call.
 */
const callsOfGivenParts: Readonly<Record<string, ReadonlyArray<readonly [caller: string, call: string]>>> = {
  'src/stream/log/idle-closing-log.ts': [
    ['ingest.ts', 'log.append('],
    ['socket-frames.ts', 'log.read('],
  ],
  'src/stream/log/append-queue.ts': [['idle-closing-log.ts', 'log.append(']],
  'src/stream/rest/long-poll.ts': [['stream-routes.ts', 'stream.poll(']],
  'src/stream/socket/socket-frames.ts': [['subscription-reader.ts', 'frames.read(']],
  'src/service/stream-news.ts': [['stream.ts', 'listener(workgroupId)']],
  'src/service/add-worker.ts': [['stream-news.ts', 'listener(workgroupId)']],
  'jobs/start-shard-loop.ts': [['wake-ups.ts', 'shard.noteNews(']],
  'src/pipeline/pipeline.ts': [['poll-slice.ts', 'pipeline.run(']],
  'src/pipeline/thread.ts': [['pipeline.ts', 'worker.postMessage(']],
  'src/pipeline/live-reader.ts': [['operations.ts', '  land,']],
  'src/warehouse/shard.ts': [['live-reader.ts', 'shard.land(']],
  'src/client/interpret.ts': [['live-reader.ts', 'reader.interpret(']],
  'src/rollup/roll-up.ts': [['operations.ts', 'rollUp(']],
  'src/exports/create-exports.ts': [['export-stage.ts', 'exports.work(']],
  'src/report/report-guard.ts': [['day-routes.ts', 'guard(request)']],
  'src/report/lake/lake-reader.ts': [['day-routes.ts', 'lake.newestGeneration(']],
};

/** A file without its imports and comments, which also name what other files do. */
const codeOf = (path: string) =>
  textOf(path).replace(/^import [^;]+;$|^\s*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)$/gm, '');
/** If the text calls a function of this name, or declares it: as a function, a member or a constant. */
const hasFunction = (text: string, name: string) =>
  new RegExp(`\\b${name}(?:<[^>]*>)?\\(|\\b(?:const|let) ${name}\\b|^\\s*${name}[,:]`, 'm').test(text);

test('a message is followed all the way', () => {
  expect(ways.map(({ name }) => name)).toEqual([
    'From ingest to the answer of a stream read',
    'From an MQTT message or an Influx line to the log',
    'From the log to a socket subscriber',
    'From an append to the worker',
    'From the log to the warehouse',
    'From the warehouse to the energy of a day',
    'From the energy of a day to the lake',
    'From the lake to a report',
    'From the lake to a delivered export',
  ]);
});

test('the listed calls are the calls of steps that no earlier step imports', () => {
  const unused = Object.keys(callsOfGivenParts).filter((path) =>
    ways
      .filter(({ files }) => files.some((step) => step.path === path))
      .every(({ files }) => {
        const before = files.slice(
          0,
          files.findIndex((step) => step.path === path),
        );
        return before.some((step) => valueLinks.has(`${step.path} ${path}`));
      }),
  );
  expect(unused).toEqual([]);
});

describe.each(ways)('$name', ({ files, count }) => {
  test('names a few files that exist', () => {
    expect(files.length).toBe(count);
    expect(files.length).toBeGreaterThan(3);
    expect(files.length).toBeLessThanOrEqual(FILES_MAX);
    for (const { shown, path } of files) {
      expect(shown).toBe(path);
      expect([path, existsSync(join(repositoryRoot, path))]).toEqual([path, true]);
    }
  });

  test('goes from step to step by imports of values, or by calls of what a file was given', () => {
    const unreached = files.slice(1).filter(({ path }, index) => {
      const before = files.slice(0, index + 1);
      if (before.some((step) => valueLinks.has(`${step.path} ${path}`))) return false;
      const reached = before.flatMap((step) => [step.path, ...step.helpers.map(pathOf)]);
      const calls = callsOfGivenParts[path] ?? [];
      return !calls.some(([name, call]) => {
        const caller = reached.find((one) => basename(one) === name);
        return caller !== undefined && codeOf(caller).includes(call);
      });
    });
    expect(unreached.map(({ path }) => path)).toEqual([]);
  });

  test('names helpers of its steps', () => {
    const reached: string[] = [];
    const alone = files.flatMap(({ path, helpers }) => {
      reached.push(path);
      return helpers.map(pathOf).filter((helper) => {
        const isLinked = reached.some((one) => one === helper || links.has(`${one} ${helper}`));
        reached.push(helper);
        return !isLinked;
      });
    });
    expect(alone).toEqual([]);
  });

  test('says of each file what its code has', () => {
    for (const { path, helpers, names } of files) {
      const own = codeOf(path);
      const all = [own, ...helpers.map((helper) => codeOf(pathOf(helper)))].join('\n');
      const missing = names.filter((name) => !isStage(name) && !hasFunction(all, name));
      expect([path, missing]).toEqual([path, []]);
      expect([path, names.some((name) => hasFunction(own, name))]).toEqual([path, true]);
    }
  });
});

/** The decisions of docs/decisions.md by topic. */
const topics = pages
  .get('docs/decisions.md')!
  .split('\n## ')
  .slice(1)
  .map((text) => {
    const [topic, ...decisions] = text.split('\n### ');
    return { topic: topic!.trim(), decisions: decisions.map((decision) => decision.trimEnd()) };
  });

test('every decision has its context, what was decided, and what came of it', () => {
  const decisions = topics.flatMap((topic) => topic.decisions);
  expect(decisions.length).toBeGreaterThan(20);
  for (const text of decisions)
    expect(text).toMatch(
      /^[^\n]+\n\n- \*\*Context\.\*\* .+\n- \*\*Decision\.\*\* .+\n- \*\*Consequence\.\*\* .+$/s,
    );
});

test('the table of contents has every topic with its decisions, in their order', () => {
  const contents = [...pages.get('docs/decisions.md')!.matchAll(/^ *- \[(.+)\]\(#/gm)].map(
    ([, title]) => title!,
  );
  const titles = topics.flatMap(({ topic, decisions }) => [
    topic,
    ...decisions.map((text) => text.split('\n')[0]!),
  ]);
  expect(contents).toEqual(titles);
});

test('every table of the warehouse has its writers in the table', () => {
  const schema = globSync('sql/schema/*.sql', { cwd: repositoryRoot })
    .map((path) => readFileSync(join(repositoryRoot, path), 'utf8'))
    .join('\n');
  const named = [...below('## Who writes what').matchAll(/^\| (.+?) \|/gm)].flatMap(([, cell]) =>
    words(cell!),
  );
  const made = [...schema.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, table]) => table!);
  expect(made.length).toBeGreaterThan(30);
  expect(made.filter((table) => !named.includes(table))).toEqual([]);
});

test('every folder of the data folder has its writers in the table', () => {
  const rows = [...below('## Who writes what').matchAll(/^\| (.+?) \| (.+?) \|/gm)].map(([, what]) => what!);
  const folders = [
    ...below('## Where state lies')
      .split('\nThe folder of a lake:')[0]!
      .matchAll(/^\| (`.+?`) \|/gm),
  ]
    .flatMap(([, cell]) => words(cell!))
    // DuckDB's tables have separate rows. Caches and locks are rebuilt by each process.
    .filter((folder) => !/^(warehouse|queue|status|lock)\//.test(folder));
  expect(folders.filter((folder) => !rows.some((row) => row.includes(folder)))).toEqual([]);
});

test('every table of the warehouse that the table of writers names exists', () => {
  const named = [...below('## Who writes what').matchAll(/^\| tables? (.+?) \|/gm)].flatMap(([, cell]) =>
    words(cell!),
  );
  const sql = globSync('sql/schema/*.sql', { cwd: repositoryRoot }).map((path) =>
    readFileSync(join(repositoryRoot, path), 'utf8'),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((table) => !sql.some((text) => text.includes(`CREATE TABLE ${table} (`)))).toEqual([]);
});
