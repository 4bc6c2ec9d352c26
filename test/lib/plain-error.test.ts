import { expect, test } from 'vitest';
import { InputError, StaleOwnerError, TerminalError, TransientError } from '../../src/lib/errors.ts';
import { fromPlainError, toPlainError } from '../../src/lib/plain-error.ts';

const across = (error: unknown) => fromPlainError(structuredClone(toPlainError(error)));

test.each([
  new TransientError('DiskFull', 'the disk is full', { details: { path: '/data', freeBytes: 0 } }),
  new TerminalError('WrongWorkgroup', 'not ours', { details: { offset: 2n ** 63n } }),
  new StaleOwnerError('acme', 3n, 4n),
  new InputError('the file', [{ path: 'a.b', message: 'is wrong' }]),
])('$name keeps its class, code, message, details and stack on the way between threads', (error) => {
  const arrived = across(error);
  expect(arrived).toBeInstanceOf(error.constructor);
  expect(arrived).toMatchObject({
    name: error.name,
    code: error.code,
    message: error.message,
    details: error.details,
    stack: error.stack,
  });
});

test('an error of a kind that does not cross stays as worth a retry as it was', () => {
  expect(across(new RangeError('a bug'))).toMatchObject({ message: 'a bug', retryable: true });
  expect(across('thrown text')).toMatchObject({ message: 'thrown text', retryable: true });
});

test('details that cannot be copied arrive as text', () => {
  const error = new TransientError('Odd', 'odd', { details: { at: () => 1, count: 5 } });
  expect(across(error)).toMatchObject({ details: { at: '() => 1', count: '5' } });
});
