import { expect, test } from 'vitest';
import { diskFullError, isDiskFull } from '../../src/lib/disk-full.ts';
import {
  InputError,
  ifMissing,
  isRetryable,
  retryAfterMsOf,
  TerminalError,
  TransientError,
} from '../../src/lib/errors.ts';

test('the problems of an input are listed with their places, and counted', () => {
  const problem = { path: 'a.b', message: 'is missing' };
  expect(new InputError('x.csv', [{ path: '', message: 'is empty' }]).message).toBe(
    'x.csv has a problem:\n  is empty',
  );
  expect(new InputError('x.csv', [problem, problem]).message).toBe(
    'x.csv has 2 problems:\n  a.b: is missing\n  a.b: is missing',
  );
  expect(new InputError('x.csv', [problem], 1_200).message).toMatch(/^x.csv has 1,200 problems:/);
});

test('only our own errors that stay the same are not worth another attempt', () => {
  const errors = [
    new TerminalError('A', 'a'),
    new InputError('x', []),
    new TransientError('A', 'a'),
    new Error(),
  ];
  expect(errors.map(isRetryable)).toEqual([false, false, true, true]);
});

test('a temporary error can say how long to wait', () => {
  const details = { retryAfterMs: 5_000 };
  expect(retryAfterMsOf(new TransientError('A', 'a', { details }))).toBe(5_000);
  expect(retryAfterMsOf(new TerminalError('A', 'a', { details }))).toBeUndefined();
  expect(retryAfterMsOf(new TransientError('A', 'a'))).toBeUndefined();
});

test('only a missing file counts as missing', () => {
  const failure = (code: string) => Object.assign(new Error(code), { code });
  expect(ifMissing('none')(failure('ENOENT'))).toBe('none');
  expect(() => ifMissing('none')(failure('ENOTDIR'))).toThrow('ENOTDIR');
});

test.each<[Error, boolean]>([
  [Object.assign(new Error('write'), { code: 'ENOSPC' }), true],
  [Object.assign(new Error('write'), { code: 'EDQUOT' }), true],
  [diskFullError('/data', undefined), true],
  [new Error('IO Error: no space left on device'), true],
  [new Error('IO Error: Disk quota exceeded'), true],
  [new Error('IO Error: File too large'), true],
  [new Error('a', { cause: new Error('b', { cause: new Error('No space left on device') }) }), true],
  [Object.assign(new Error('read'), { code: 'EIO' }), false],
])('that %o says that a disk is full: %s', (error, isFull) => {
  expect(isDiskFull(error)).toBe(isFull);
});
