import { expect, test } from 'vitest';
import { createLogger, type Logger, silentLogger, sparingLogger } from '../../src/lib/logger.ts';
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

test('an event has its level, its time and its fields, and no credentials of itself or of a member', () => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'info' }, { write: (line) => void lines.push(line) });
  const own = { token: 'x', authorization: 'x', password: 'x', secret: 'x', id: 7 };
  const headers = { authorization: 'x', cookie: 'x', accept: '*/*' };
  logger.debug({}, 'test.left-out');
  logger.warn({ ...own, headers, request: { ...own, headers } }, 'test.event');
  const hidden = '[secret]';
  const ownShown = { token: hidden, authorization: hidden, password: hidden, secret: hidden, id: 7 };
  const headersShown = { authorization: hidden, cookie: hidden, accept: '*/*' };
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      ...{ level: 'warn', time: expect.stringMatching(/^\d{4}-.*Z$/), msg: 'test.event' },
      ...{ ...ownShown, headers: headersShown, request: { ...ownShown, headers: headersShown } },
    },
  ]);
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
