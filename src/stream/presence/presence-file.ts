import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFileInPieces } from '../../lib/durable-files.ts';
import { isMissing } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { type PresenceStore, parsePresence, presencePieces } from './stored-presence.ts';

/** The presence of devices in a file, for a log that belongs to one data folder. */
export function createPresenceFile(path: string, logger: Logger): PresenceStore {
  return {
    async read() {
      let text: string;
      try {
        text = readFileSync(path, 'utf8');
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
      const stored = parsePresence(text);
      if (!stored) logger.warn({ path }, 'presence.unreadable');
      return stored;
    },
    async write(stored) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFileInPieces(path, presencePieces(stored));
    },
  };
}
