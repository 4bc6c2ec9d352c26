import { TerminalError, TransientError } from '../../lib/errors.ts';

/** What the system refuses to do with files, as one of our errors that says what to do; anything else as it is. */
export function fromSystemError(error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const { code, path } = error as NodeJS.ErrnoException;
  const where = path === undefined ? '' : ` at ${path}`;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new TransientError('DiskFull', `the disk is full${where} (${code}): make room, then try again`, {
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new TerminalError(
        'NotAllowed',
        `this user may not do that${where} (${code}): give it the rights, or choose another folder`,
        { cause: error },
      );
    default:
      return error;
  }
}
