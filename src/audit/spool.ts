import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { fieldValueSchema, nameSchema } from '../contract/messages.ts';
import { syncFolder, writePrivateFile } from '../lib/durable-files.ts';
import { tryParseJson } from '../lib/json-text.ts';

/** An entry on disk that waits to be moved into the log. */
const spooledEntrySchema = z.strictObject({
  /** The log's message has the same id as `entry`, so that a repeated move is recognized. */
  entryId: z.string(),
  actor: z.string(),
  action: z.string(),
  target: z.string().optional(),
  event_time: z.number().int(),
  data: z.record(nameSchema, fieldValueSchema).optional(),
});
export type SpooledEntry = z.output<typeof spooledEntrySchema>;

/**
 * A folder with the entries of a workgroup that are not in its log yet. Each entry is a file, so that any
 * process can add entries at any time without waiting for another one.
 *
 * Its calls are synchronous. One process reads the folder of each workgroup every second. A synchronous call
 * takes 2 µs if there is no folder. A call of the thread pool would take 17 µs.
 */
export interface AuditSpool {
  /** Adds an entry durably. */
  add(entry: Omit<SpooledEntry, 'entryId'>): void;
  /** The file names of the waiting entries, the oldest first. */
  waiting(): string[];
  /** Reads an entry; undefined if the file is not valid. */
  read(name: string): SpooledEntry | undefined;
  /** Removes an entry that is in the log. */
  remove(name: string): void;
  /** Moves an invalid file away, so that it is not read again. */
  markUnreadable(name: string): void;
}

const ENTRY = '.json';

/** @param dataDir the spool is in its folder `audit/<workgroup>` */
export function openAuditSpool(dataDir: string, workgroupId: string): AuditSpool {
  const folder = join(dataDir, 'audit', workgroupId);
  let added = 0;
  return {
    add(entry) {
      makeFolder(folder);
      const entryId = randomUUID();
      const order = `${String(entry.event_time).padStart(15, '0')}-${String(added++).padStart(9, '0')}`;
      const draft = join(folder, `${entryId}.draft`);
      writePrivateFile(draft, JSON.stringify({ entryId, ...entry }));
      renameSync(draft, join(folder, `${order}-${entryId}${ENTRY}`));
      syncFolder(folder);
    },
    waiting() {
      if (!existsSync(folder)) return [];
      return readdirSync(folder)
        .filter((name) => name.endsWith(ENTRY))
        .sort();
    },
    read: (name) => spooledEntrySchema.safeParse(tryParseJson(readFileSync(join(folder, name), 'utf8'))).data,
    remove: (name) => rmSync(join(folder, name), { force: true }),
    markUnreadable: (name) => renameSync(join(folder, name), join(folder, `${name}.unreadable`)),
  };
}

function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  syncFolder(dirname(folder));
}
