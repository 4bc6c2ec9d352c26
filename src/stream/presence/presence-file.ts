import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Offset } from '../../contract/offset.ts';
import { replaceFileInPieces } from '../../lib/durable-files.ts';
import type { Logger } from '../../lib/logger.ts';
import type { DevicePresence } from './presence.ts';

/** The presence of devices at a position of a log. The log has everything after it. */
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
  /** Each row: device, state, last heard, reported offline, back since. */
  devices: z.array(
    z.tuple([z.string(), z.enum(['online', 'offline']).nullable(), z.number(), instantSchema, instantSchema]),
  ),
});

/**
 * Returns undefined if there is no file. A file that cannot be read counts as none, because the log has the last hour.
 */
export function readPresence(path: string, logger: Logger): StoredPresence | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const parsed = fileSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    logger.warn({ path }, 'presence.unreadable');
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

/** Writes the file in parts, so that other work gets a turn. The devices must not change meanwhile. */
export async function writePresence(path: string, stored: StoredPresence): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replaceFileInPieces(path, piecesOf(stored));
}

const DEVICES_PER_PIECE = 1_000;

function* piecesOf({ epoch, position, devices }: StoredPresence): Generator<string> {
  const head = JSON.stringify({ format: FORMAT, epoch, position: String(position) });
  yield `${head.slice(0, -1)},"devices":[`;
  for (let from = 0; from < devices.length; from += DEVICES_PER_PIECE) {
    const rows = devices
      .slice(from, from + DEVICES_PER_PIECE)
      .map((one) =>
        JSON.stringify([
          one.device,
          one.state ?? null,
          one.heardMs,
          one.reportedOfflineMs ?? null,
          one.backMs ?? null,
        ]),
      );
    yield `${from > 0 ? ',' : ''}${rows.join()}`;
  }
  yield ']}';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
