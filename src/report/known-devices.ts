import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { query } from '../warehouse/query.ts';
import { readDeviceStates } from './device-states.ts';
import { meantText } from './known-names.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';
import { readSources } from './read-sources.ts';

/** The published devices by generation. The devices of a generation never change. */
const published = new WeakMap<Generation, Promise<ReadonlySet<string>>>();

/**
 * Finds devices that are neither configured nor published.
 * @param devices ids in lower case; undefined for all devices, so that none can be unknown
 * @returns the first unknown device. Undefined if all are known. Also undefined before the first publication,
 *   because nobody knows the devices then
 */
export async function findUnknownDevice(
  lake: LakeReader,
  generation: Generation | undefined,
  workgroup: WorkgroupConfig,
  devices: readonly string[] | undefined,
): Promise<{ device: string; known: ReadonlySet<string> } | undefined> {
  if (!generation || !devices) return undefined;
  const configured = configuredDevices(workgroup);
  const others = devices.filter((device) => !configured.has(device));
  if (others.length === 0) return undefined;
  const known = await publishedDevices(lake, generation);
  const rest = others.filter((other) => !known.has(other));
  if (rest.length === 0) return undefined;
  const withDays = await readDevicesWithDays(lake, generation, rest);
  const device = rest.find((other) => !withDays.has(other));
  return device === undefined ? undefined : { device, known: new Set([...configured, ...known]) };
}

/**
 * The nearest device and the ones that a caller can name, for an error.
 * @param named the configured devices that the caller can see
 * @param others ids of devices without a name that the caller can see
 */
export function alternativesText(
  written: string,
  named: WorkgroupConfig['devices'],
  others: Iterable<string> = [],
): string {
  const names = named.flatMap(({ name }) => name ?? []);
  const ids = [...new Set([...named.map(({ id }) => id), ...others])].sort();
  if (names.length === 0 && ids.length === 0) return 'give the id of a device, a UUID';
  return meantText(written, 'devices', names.length > 0 ? names : ids, ids);
}

/** The configured devices that a caller can see. */
export function visibleNamed(
  { devices: visible }: Pick<Authorization, 'devices'>,
  { devices }: Pick<WorkgroupConfig, 'devices'>,
): WorkgroupConfig['devices'] {
  return devices.filter(({ id }) => visible === 'all' || visible.has(id));
}

function configuredDevices({ devices, deviceGroups, sites, meters }: WorkgroupConfig): Set<string> {
  return new Set([
    ...devices.map(({ id }) => id),
    ...Object.values(deviceGroups).flatMap((group) => [...group]),
    ...sites.flatMap((site) => site.devices.map(({ id }) => id)),
    ...meters.flatMap(({ device }) => device ?? []),
  ]);
}

/** Devices without a series can still have days, because days can be kept for longer. */
async function readDevicesWithDays(
  lake: LakeReader,
  generation: Generation,
  devices: readonly string[],
): Promise<ReadonlySet<string>> {
  const files = generation.files('daily_energy');
  if (files.length === 0) return new Set();
  const rows = await lake.run({ generation, files }, (connection) =>
    query<{ device: string }>(connection, 'report/list_devices_with_days', {
      files: files.map(generation.path),
      devices: [...devices],
    }),
  );
  return new Set(rows.map(({ device }) => device));
}

function publishedDevices(lake: LakeReader, generation: Generation): Promise<ReadonlySet<string>> {
  const before = published.get(generation);
  if (before) return before;
  const reading = readPublished(lake, generation);
  published.set(generation, reading);
  // A failed reading is tried again.
  reading.catch(() => published.delete(generation));
  return reading;
}

async function readPublished(lake: LakeReader, generation: Generation): Promise<ReadonlySet<string>> {
  const [states, sources] = await Promise.all([
    readDeviceStates(lake, generation, { devices: [] }),
    readSources(lake, generation),
  ]);
  return new Set([...states.map(({ device }) => device), ...sources.keys()]);
}
