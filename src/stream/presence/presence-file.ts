import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Offset } from '../../contract/offset.ts';
import { replaceFile } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/logger.ts';
import type { DevicePresence } from './presence.ts';

/** Who was there at a position of a log: what came after it is read from the log again. */
export interface StoredPresence {
  epoch: string;
  position: Offset;
  devices: DevicePresence[];
}

const FORMAT = 1;
const instantSchema = z.number().nullable();
const fileSchema = z.object({
  format: z.literal(FORMAT),
  epoch: z.string(),
  position: z.string().regex(/^\d+$/),
  /** Device, state, heard, reported offline, back. */
  devices: z.array(
    z.tuple([z.string(), z.enum(['online', 'offline']).nullable(), z.number(), instantSchema, instantSchema]),
  ),
});

/** @returns undefined where there is none; one that cannot be read counts as none, because the log has the last hour all the same */
export function readPresence(path: string, log: Log): StoredPresence | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const parsed = fileSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    log.warn({ path }, 'presence.unreadable');
    return undefined;
  }
  const { epoch, position, devices } = parsed.data;
  return {
    epoch,
    position: BigInt(position),
    devices: devices.map(([device, state, heardMs, reportedOfflineMs, backMs]) => ({
      device,
      state: state ?? undefined,
      heardMs,
      reportedOfflineMs: reportedOfflineMs ?? undefined,
      backMs: backMs ?? undefined,
    })),
  };
}

export function writePresence(path: string, { epoch, position, devices }: StoredPresence): void {
  mkdirSync(dirname(path), { recursive: true });
  const rows = devices.map((one) => [
    one.device,
    one.state ?? null,
    one.heardMs,
    one.reportedOfflineMs ?? null,
    one.backMs ?? null,
  ]);
  replaceFile(path, JSON.stringify({ format: FORMAT, epoch, position: String(position), devices: rows }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
