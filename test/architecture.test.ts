import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageFile from '../package.json' with { type: 'json' };
import { libraryHomes, parts } from './support/architecture.ts';
import { findBreaches } from './support/find-breaches.ts';
import { findImports, readSources, readUsers } from './support/find-imports.ts';
import { findMisnamedFiles } from './support/misnamed-files.ts';
import { findExportNamesakes, findNamesakes } from './support/namesakes.ts';
import { findUnusedExports } from './support/unused-exports.ts';

const dependencies = Object.keys(packageFile.dependencies);
const root = join(import.meta.dirname, '..');
const sources = readSources(root);

test('imports point one way, libraries stay at home, and only entry points read the environment', () => {
  expect(findBreaches(sources, dependencies)).toEqual([]);
});

test('no two files have one name', () => {
  const tests = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: '' }));
  expect(tests.length).toBeGreaterThan(400);
  expect(findNamesakes(sources)).toEqual([]);
  expect(findNamesakes(tests)).toEqual([]);
  expect(
    findNamesakes([
      { path: 'src/a/x.ts', text: '' },
      { path: 'src/b/x.ts', text: '' },
    ]),
  ).toHaveLength(1);
});

test('no two files export one name', () => {
  expect(findExportNamesakes(sources)).toEqual([]);
  const one = { path: 'src/a/x.ts', text: 'export interface Reading {}\nexport const Reading = 1;' };
  expect(findExportNamesakes([one])).toEqual([]);
  for (const text of ['export type Reading = string;', 'export abstract class Reading {}'])
    expect(findExportNamesakes([one, { path: 'src/b/y.ts', text }])).toEqual([
      'Reading is exported by src/a/x.ts and src/b/y.ts; rename one of them, or share it',
    ]);
});

test('a file with one exported function or class is named after it', () => {
  expect(findMisnamedFiles(sources)).toEqual([]);
  const found = (name: string, text: string) => findMisnamedFiles([{ path: `src/a/${name}.ts`, text }]);
  expect(found('bearer-token', 'export function readTokens() {}')).toEqual([]);
  expect(found('openapi', 'export function registerOpenApi() {}')).toEqual([]);
  expect(found('message-words', 'export function sentence() {}\nexport const LENGTH = 1;')).toEqual([
    'src/a/message-words.ts exports sentence, LENGTH; give the file or the function a name with a word of the other',
  ]);
});

test('what a file exports, another file uses', () => {
  expect(findUnusedExports(sources, readUsers(root))).toEqual([]);
  const one = { path: 'src/a/x.ts', text: 'export interface Reading {}\nexport const value: Reading = {};' };
  const uses = (text: string) => findUnusedExports([one], [{ path: 'test/a/x.test.ts', text }]);
  expect(uses(`import { value } from '../../src/a/x.ts';`)).toEqual([
    'Reading of src/a/x.ts is exported, but no other file names it; remove the word export',
  ]);
  expect(uses(`import { type Reading, value } from '../../src/a/x.ts';`)).toEqual([]);
  expect(uses(`export type * from '../../src/a/x.ts';`)).toEqual([]);
});

test('a file imports a module once', () => {
  const repeated = (text: string) => {
    const modules = [...text.matchAll(/^import .*?\bfrom '(.+?)';$/gms)].map(([, module]) => module);
    return modules.filter((module, index) => modules.indexOf(module) !== index);
  };
  expect(sources.flatMap(({ path, text }) => repeated(text).map((module) => `${path}: ${module}`))).toEqual(
    [],
  );
  const twice = `import type { Clock } from './time.ts';\nimport {\n  DAY_MS,\n} from './time.ts';`;
  expect(repeated(twice)).toEqual(['./time.ts']);
});

test('the rules are about the code that is there', () => {
  expect(sources.length).toBeGreaterThan(50);
  const imports = sources.flatMap(findImports);
  expect(imports.length).toBeGreaterThan(sources.length);
  const files = new Set(sources.map(({ path }) => path));
  const broken = imports.filter(
    ({ isLibrary, target }) => !isLibrary && target.startsWith('src/') && !files.has(target),
  );
  expect(broken).toEqual([]);
});

test('the parts themselves form no circle', () => {
  const seen: string[] = [];
  for (const { name, mayUse } of parts) {
    expect(mayUse.filter((other) => !seen.includes(other))).toEqual([]);
    seen.push(name);
  }
});

describe('a breach is found and explained', () => {
  const breachesOf = (path: string, text: string) => findBreaches([{ path, text }], dependencies);

  test.each([
    [
      'src/warehouse/x.ts',
      `import { a } from '../stream/stream.ts';`,
      'warehouse may use lib, cbor, contract, decode, config, access, not stream',
    ],
    [
      'src/contract/x.ts',
      `import type { A } from '../access/grant.ts';`,
      'contract may use lib, cbor, not access',
    ],
    ['src/stream/x.ts', `export * from '../warehouse/shard.ts';`, 'not warehouse'],
    ['src/simulate/x.ts', `const run = await import('../rollup/roll-up.ts');`, 'not rollup'],
    ['src/pipeline/x.ts', `import { startWorker } from '../../jobs/worker.ts';`, 'src never uses jobs'],
    ['src/report/x.ts', `import { main } from '../cli/main.ts';`, 'only entry points use entry points'],
    [
      'src/stream/x.ts',
      `import { type Config, loadConfig } from '../config/config.ts';`,
      'only entry points read the config',
    ],
    ['src/stream/x.ts', `import {\n  a,\n  b,\n} from 'bullmq';`, 'bullmq lives in jobs/'],
    ['src/stream/x.ts', `import 'ioredis';`, 'ioredis lives in'],
    ['jobs/x.ts', `import { Redis } from 'ioredis';`, 'ioredis lives in src/redis/redis-clients.ts'],
    ['src/contract/x.ts', `import { decode } from 'cbor-x';`, 'cbor-x is not a dependency in package.json'],
    ['src/rollup/x.ts', `import { DuckDBInstance } from '@duckdb/node-api';`, '@duckdb/node-api lives in'],
    [
      'src/report/x.ts',
      `import { deflate } from 'pako/lib/deflate';`,
      'pako is not a dependency in package.json',
    ],
    ['src/report/x.ts', `const zone = process.env.TZ;`, 'only entry points read the environment'],
    [
      'src/report/x.ts',
      `import { startRoles } from '../service/start-roles.ts';`,
      'only entry points start the parts',
    ],
    ['src/service/x.ts', `import { main } from '../cli/main.ts';`, 'only entry points use entry points'],
    [
      'src/web/x.tsx',
      `import { explainedSchema } from '../explain/explained-schema.ts';`,
      'web runs in a browser and may use only types of explain',
    ],
    ['src/report/x.ts', `import { h } from 'preact/hooks';`, 'preact is not a dependency in package.json'],
    ['src/new/x.ts', `import { a } from '../lib/time.ts';`, 'src/new/x.ts belongs to no part'],
    [
      'src/report/x.ts',
      `import { a } from '../../test/support/until.ts';`,
      'belongs to no part of the product',
    ],
  ])('%s: %s', (path, text, rule) => {
    const breaches = breachesOf(path, `// a line above\n${text}\n`);
    expect(breaches).toHaveLength(1);
    expect(breaches[0]).toContain(`${path}:2: `);
    expect(breaches[0]).toContain(rule);
  });

  test.each([
    ['src/cli/up/up-command.ts', `import { startWorker } from '../../jobs/worker.ts';`],
    ['src/service/start-roles.ts', `import type { FastifyInstance } from 'fastify';`],
    ['src/cli.ts', `const debug = process.env.WATTLINE_DEBUG;`],
    ['src/rollup/x.ts', `import type { DuckDBConnection } from '@duckdb/node-api';`],
    ['src/rollup/x.ts', `import { type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';`],
    ['src/web/x.tsx', `import type { Explained } from '../explain/explained-schema.ts';`],
    ['src/web/x.tsx', `import { useState } from 'preact/hooks';`],
    ['src/stream/x.ts', `import type { Config } from '../config/config.ts';`],
    [
      'src/stream/x.ts',
      `import { readdirSync } from 'node:fs';
import { join } from 'node:path';`,
    ],
    ['src/stream/x.ts', `import { z } from 'zod/mini';`],
    ['src/stream/x.ts', `// import { Queue } from 'bullmq';`],
  ])('%s may: %s', (path, text) => {
    expect(breachesOf(path, `${text}\n`)).toEqual([]);
  });
});

test('every library that is declared has a home', () => {
  expect(dependencies.filter((name) => !libraryHomes[name])).toEqual([]);
});
