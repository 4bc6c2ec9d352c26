import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fromSystemError } from '../../src/cli/terminal/system-error.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';

function thrownBy(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test('a full disk is a retryable error in plain words', () => {
  // A device that is full for every write.
  const error = fromSystemError(thrownBy(() => writeFileSync('/dev/full', 'x')));
  expect(error).toBeInstanceOf(TransientError);
  expect(error).toMatchObject({
    code: 'DiskFull',
    message: 'the disk is full (ENOSPC): make room, then try again',
  });
});

test('a file that this user may not write is named', () => {
  const refused = Object.assign(new Error('EROFS: read-only file system, open'), {
    code: 'EROFS',
    syscall: 'open',
    path: '/data/access/issued.ndjson',
  });
  const error = fromSystemError(refused);
  expect(error).toBeInstanceOf(TerminalError);
  expect(error).toMatchObject({
    code: 'NotAllowed',
    message: expect.stringMatching(
      /^this user has no permission at \/data\/access\/issued.ndjson \(EROFS\): /,
    ),
  });
});

test('other errors are not changed', () => {
  const error = thrownBy(() => readFileSync('/nowhere/at-all'));
  expect(fromSystemError(error)).toBe(error);
  expect(fromSystemError('text')).toBe('text');
});
