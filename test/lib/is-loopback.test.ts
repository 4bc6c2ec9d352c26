import { expect, test } from 'vitest';
import { isLoopback } from '../../src/lib/is-loopback.ts';

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.255.0.9', '::1'])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each([
  '127.example.com',
  '127.0.0.1.example.com',
  'localhost.example.com',
  '128.0.0.1',
  '0.0.0.0',
  '::2',
])('%s is another machine, or all addresses of this one', (host) => {
  expect(isLoopback(host)).toBe(false);
});
