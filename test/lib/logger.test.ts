import { expect, test } from 'vitest';
import { type Logger, silentLogger, sparingLogger } from '../../src/lib/logger.ts';
import { readSources } from '../support/find-imports.ts';
import { repositoryRoot } from '../support/readme.ts';

test('a repeated error is logged at once, then at intervals with its count, and other errors always', () => {
  const lines: unknown[] = [];
  const write = (fields: object, event: string) => lines.push([event, fields]);
  const rings: Array<() => void> = [];
  const logger = sparingLogger(
    Object.assign(Object.create(silentLogger) as Logger, { error: write }),
    new Set(['http.unavailable']),
    (_, ring) => {
      rings.push(ring);
      return () => undefined;
    },
  );
  const ring = () => rings.shift()?.();
  for (let request = 0; request < 100; request++) {
    logger.error({ request }, 'http.unavailable');
    if (request % 50 === 0) logger.error({ request }, 'http.internal-error');
  }
  expect(lines.splice(0)).toEqual([
    ['http.unavailable', { request: 0 }],
    ['http.internal-error', { request: 0 }],
    ['http.internal-error', { request: 50 }],
  ]);
  ring();
  expect(lines.splice(0)).toEqual([['http.unavailable', { request: 99, heldBack: 99 }]]);
  ring();
  expect([lines, rings]).toEqual([[], []]);
  logger.error({ request: 200 }, 'http.unavailable');
  expect(lines).toEqual([['http.unavailable', { request: 200 }]]);
});

test('events are named in kebab case, and their fields name a workgroup and an error in one way', () => {
  const sources = readSources(repositoryRoot);
  const calls = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/logger\.(?:debug|info|warn|error)\(([^;]*?),\s*'([^']+)'/g)].map(
      ([, fields, event]) => ({ path, fields: fields!, event: event! }),
    ),
  );
  expect(calls.length).toBeGreaterThan(50);
  expect(calls.filter(({ event }) => !/^[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*$/.test(event))).toEqual([]);
  expect(calls.filter(({ fields }) => /[{,]\s*(shard|workgroupId|problem)\s*[:,}]/.test(fields))).toEqual([]);
});
