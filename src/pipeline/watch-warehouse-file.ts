import { statSync } from 'node:fs';
import { TerminalError } from '../lib/errors.ts';

/**
 * Remembers which file a path is now. A file that is deleted while it is open stays usable for this process
 * only, and everything that is stored in it ends with the process.
 * @returns a check, which throws the TerminalError WarehouseGone if the path is another file now, or none
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
