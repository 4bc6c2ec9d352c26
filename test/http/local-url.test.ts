import { expect, test } from 'vitest';
import { localUrl } from '../../src/http/local-url.ts';

test.each([
  ['192.0.2.1', 'http://192.0.2.1:80'],
  ['0.0.0.0', 'http://127.0.0.1:80'],
  ['::', 'http://127.0.0.1:80'],
  ['::1', 'http://[::1]:80'],
  ['localhost', 'http://localhost:80'],
])('a server that listens at %s is called at %s', (host, url) => {
  expect(localUrl(host, 80)).toBe(url);
});
