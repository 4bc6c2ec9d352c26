import { TerminalError, TransientError } from '../../lib/errors.ts';

/** Converts errors of the file system to our errors, with what to do. Other errors stay as they are. */
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
        `this user has no permission${where} (${code}): give it the permission, or choose another folder`,
        { cause: error },
      );
    default:
      return error;
  }
}
