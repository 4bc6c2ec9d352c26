import type { WorkgroupConfig } from '../config/config.ts';
import type { UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { ASLEEP_MS_MAX } from '../warehouse/shard-status.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';

export const deviceStates = ['online', 'offline', 'unknown'] as const;

/** The current state of a device. */
export interface DeviceState {
  device: string;
  /** The configured name; undefined if there is none. */
  name: string | undefined;
  /** `unknown` if no message has named it. */
  state: (typeof deviceStates)[number];
  /** When the state changed. */
  sinceMs: UtcMs | null;
  reason: string | null;
  /** The minute in which its newest data was stored. */
  lastSeenMs: UtcMs | null;
}

/**
 * True if a device has announced that it goes to sleep, as a solar inverter does at night, and was heard in
 * the last `ASLEEP_MS_MAX`. That is no fault. `count_states` of sql/device-status has the same rule.
 */
export function isAsleep(
  { state, reason, lastSeenMs, sinceMs }: Pick<DeviceState, 'state' | 'reason' | 'lastSeenMs' | 'sinceMs'>,
  atMs: UtcMs,
): boolean {
  return state === 'offline' && reason === 'asleep' && (lastSeenMs ?? sinceMs ?? 0) >= atMs - ASLEEP_MS_MAX;
}

/** The devices of a workgroup by id: devices with messages, and configured devices. */
export async function readDeviceStates(
  lake: LakeReader,
  generation: Generation | undefined,
  { devices }: Pick<WorkgroupConfig, 'devices'>,
  signal?: AbortSignal,
): Promise<DeviceState[]> {
  const names = new Map(devices.map(({ id, name }) => [id, name]));
  const files = generation?.files('device_state') ?? [];
  const rows =
    !generation || files.length === 0
      ? []
      : await lake.run(
          { generation, files },
          (connection) =>
            query<{
              device: string;
              state: DeviceState['state'];
              since_ms: number | null;
              reason: string | null;
              last_seen_ms: number | null;
            }>(connection, 'report/list_device_states', { files: files.map(generation.path) }),
          signal,
        );
  const known = new Set(rows.map(({ device }) => device));
  const unseen = [...names.keys()].filter((device) => !known.has(device));
  return [
    ...rows.map(({ device, state, since_ms, reason, last_seen_ms }): DeviceState => {
      return { device, name: names.get(device), state, sinceMs: since_ms, reason, lastSeenMs: last_seen_ms };
    }),
    ...unseen.map((device): DeviceState => {
      return {
        device,
        name: names.get(device),
        state: 'unknown',
        sinceMs: null,
        reason: null,
        lastSeenMs: null,
      };
    }),
  ].sort((a, b) => (a.device < b.device ? -1 : 1));
}
