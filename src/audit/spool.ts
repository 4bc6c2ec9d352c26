import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { fieldValueSchema, nameSchema } from '../contract/messages.ts';
import { syncFolder, writeNewFile } from '../lib/durable-files.ts';

/** An entry as it waits on the disk for the stream service to take it into the log. */
const spooledEntrySchema = z.strictObject({
  /** Stands in the message's data too, as `entry`: an entry that is in the log already is known by it. */
  entryId: z.string(),
  actor: z.string(),
  action: z.string(),
  target: z.string().optional(),
  event_time: z.number().int(),
  data: z.record(nameSchema, fieldValueSchema).optional(),
});
export type SpooledEntry = z.output<typeof spooledEntrySchema>;

/**
 * What happened to a workgroup and is not in its log yet, in a folder of its own, a file for each entry: any process may add one at
 * any time, whether the stream service runs or not, and no two of them wait for each other.
 */
export interface AuditSpool {
  /** Adds an entry. It survives a crash of the machine once this returns. */
  add(entry: Omit<SpooledEntry, 'entryId'>): void;
  /** The names of the entries that wait, oldest first. */
  waiting(): string[];
  /** Reads one; undefined where it cannot be read as an entry. */
  read(name: string): SpooledEntry | undefined;
  /** Lets go of one that is in the log. */
  remove(name: string): void;
  /** Puts one aside that is no entry, so that it is not read again and again. */
  setAside(name: string): void;
}

const ENTRY = '.json';

/** @param dataDir the spool lies in `audit/<workgroup>` below it */
export function openAuditSpool(dataDir: string, workgroupId: string): AuditSpool {
  const folder = join(dataDir, 'audit', workgroupId);
  let added = 0;
  return {
    add(entry) {
      makeFolder(folder);
      const entryId = randomUUID();
      const order = `${String(entry.event_time).padStart(15, '0')}-${String(added++).padStart(9, '0')}`;
      const draft = join(folder, `${entryId}.draft`);
      writeNewFile(draft, JSON.stringify({ entryId, ...entry }));
      renameSync(draft, join(folder, `${order}-${entryId}${ENTRY}`));
      syncFolder(folder);
    },
    waiting() {
      if (!existsSync(folder)) return [];
      return readdirSync(folder)
        .filter((name) => name.endsWith(ENTRY))
        .sort();
    },
    read: (name) => spooledEntrySchema.safeParse(parseJson(readFileSync(join(folder, name), 'utf8'))).data,
    remove: (name) => rmSync(join(folder, name), { force: true }),
    setAside: (name) => renameSync(join(folder, name), join(folder, `${name}.unreadable`)),
  };
}

function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  syncFolder(dirname(folder));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
