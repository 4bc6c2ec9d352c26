import { statSync } from 'node:fs';
import { TerminalError } from '../lib/errors.ts';

/**
 * Remembers which file a path is now. If the file is deleted while it is open, only this process can still
 * use it, and everything that is stored in it is lost when the process ends.
 * @returns a check that throws the TerminalError WarehouseGone if the path now names another file or no file
 */
export function watchWarehouseFile(path: string): () => void {
  const { dev, ino } = statSync(path);
  return () => {
    const now = statSync(path, { throwIfNoEntry: false });
    if (now?.dev === dev && now.ino === ino) return;
    throw new TerminalError(
      'WarehouseGone',
      `the warehouse ${path} was ${now ? 'replaced' : 'deleted'} while the service has it open, so nothing can be stored or published any more. Stop the service, put the file or a backup of it back with its lake, and start again. The stream keeps new messages until its retention is over`,
      { details: { path } },
    );
  };
}
