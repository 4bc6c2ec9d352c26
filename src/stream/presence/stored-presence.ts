import { z } from 'zod';
import type { Offset } from '../../contract/offset.ts';
import { tryParseJson } from '../../lib/json-text.ts';
import type { DevicePresence } from './presence.ts';

/** The presence of devices as of a position of a log. Later changes are read from the log. */
interface StoredPresence {
  epoch: string;
  position: Offset;
  devices: DevicePresence[];
}

/** Where the presence of one workgroup's devices is kept between processes. */
export interface PresenceStore {
  /**
   * Undefined if nothing is stored, or if it cannot be read. The presence is then built again from the last
   * hour in the log.
   */
  read(): Promise<StoredPresence | undefined>;
  /** Replaces the stored presence. The devices must not change meanwhile. */
  write(stored: StoredPresence): Promise<void>;
}

const FORMAT = 1;
const instantSchema = z.number().nullable();
const storedSchema = z.object({
  format: z.literal(FORMAT),
  epoch: z.string(),
  position: z.string().regex(/^\d+$/),
  /** Each row: device, state, last heard, reported offline, returned. */
  devices: z.array(
    z.tuple([z.string(), z.enum(['online', 'offline']).nullable(), z.number(), instantSchema, instantSchema]),
  ),
});

/** @returns undefined if the text is not a stored presence */
export function parsePresence(text: string): StoredPresence | undefined {
  const parsed = storedSchema.safeParse(tryParseJson(text));
  if (!parsed.success) return undefined;
  const { epoch, position, devices } = parsed.data;
  return {
    epoch,
    position: BigInt(position),
    devices: devices.map(([device, state, heardMs, reportedOfflineMs, returnedMs]) => ({
      device,
      state: state ?? undefined,
      heardMs,
      reportedOfflineMs: reportedOfflineMs ?? undefined,
      returnedMs: returnedMs ?? undefined,
    })),
  };
}

const DEVICES_PER_PIECE = 1_000;

/** The text of a stored presence, in pieces, so that other work gets a turn. */
export function* presencePieces({ epoch, position, devices }: StoredPresence): Generator<string> {
  const head = JSON.stringify({ format: FORMAT, epoch, position: String(position) });
  yield `${head.slice(0, -1)},"devices":[`;
  for (let from = 0; from < devices.length; from += DEVICES_PER_PIECE) {
    const rows = devices
      .slice(from, from + DEVICES_PER_PIECE)
      .map((device) =>
        JSON.stringify([
          device.device,
          device.state ?? null,
          device.heardMs,
          device.reportedOfflineMs ?? null,
          device.returnedMs ?? null,
        ]),
      );
    yield `${from > 0 ? ',' : ''}${rows.join()}`;
  }
  yield ']}';
}
