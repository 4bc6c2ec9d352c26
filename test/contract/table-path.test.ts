import { expect, test } from 'vitest';
import { tablePath } from '../../src/contract/table-path.ts';

test.each([
  ['http://stream.example', '/api/v1/tables/acme/-/latest'],
  ['http://stream.example/', '/api/v1/tables/acme/-/latest'],
  ['https://example.org/a/b//', '/a/b/api/v1/tables/acme/-/latest'],
])('the path on %s is %s', (server, path) => {
  expect(tablePath(new URL(server), 'acme', '-', 'latest')).toBe(path);
});

test('names are escaped', () => {
  expect(tablePath(new URL('http://stream.example'), 'a/b', 'c d', 'messages')).toBe(
    '/api/v1/tables/a%2Fb/c%20d/messages',
  );
});
