import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { TransientError } from '../../lib/errors.ts';
import { formatInstantOrNull, formatLocal, systemClock } from '../../lib/time.ts';
import { type DeviceState, readDeviceStates } from '../../report/device-states.ts';
import { openCommandLake } from '../../service/open-command-lake.ts';
import { formatTable } from '../terminal/format-table.ts';

/** A device in the list. Instants are text. */
interface ListedDevice {
  workgroupId: string;
  device: string;
  name: string | undefined;
  state: DeviceState['state'];
  since: string | null;
  reason: string | null;
  lastSeen: string | null;
}

/**
 * The published devices of workgroups: offline devices first, the longest offline at the top.
 * @throws TransientError if none of the workgroups has published anything yet
 */
export async function listDevices(
  config: Config,
  workgroups: readonly WorkgroupConfig[],
  state: DeviceState['state'] | undefined,
): Promise<ListedDevice[]> {
  const lake = await openCommandLake(config, { clock: systemClock });
  try {
    const listed: ListedDevice[] = [];
    const generations = await Promise.all(workgroups.map(({ id }) => lake.newestGeneration(id)));
    if (generations.every((generation) => generation === undefined)) {
      throw new TransientError(
        'NothingPublished',
        `nothing is published below ${config.dataDir} yet; start a worker with "wattline up"`,
      );
    }
    for (const [index, workgroup] of workgroups.entries()) {
      const devices = await readDeviceStates(lake, generations[index], workgroup);
      listed.push(
        ...devices
          .filter((device) => state === undefined || device.state === state)
          .sort((a, b) => rank[a.state] - rank[b.state] || (a.sinceMs ?? 0) - (b.sinceMs ?? 0))
          .map(({ sinceMs, lastSeenMs, ...device }) => ({
            workgroupId: workgroup.id,
            ...device,
            since: formatInstantOrNull(sinceMs),
            lastSeen: formatInstantOrNull(lastSeenMs),
          })),
      );
    }
    return listed;
  } finally {
    await lake.close();
  }
}

const rank: Readonly<Record<DeviceState['state'], number>> = { offline: 0, online: 1, unknown: 2 };

/** Instants as local time of the workgroup. */
export function describeDevices(
  listed: readonly ListedDevice[],
  workgroups: readonly WorkgroupConfig[],
  columnsMax: number,
): string {
  if (listed.length === 0) return 'no devices\n';
  const zones = new Map(workgroups.map(({ id, timezone }) => [id, timezone]));
  const local = ({ workgroupId }: ListedDevice, instant: string | null) =>
    instant === null ? '-' : formatLocal(Date.parse(instant), zones.get(workgroupId)!);
  const columns = [
    { title: 'Workgroup', value: (one: ListedDevice) => one.workgroupId },
    { title: 'Device', value: (one: ListedDevice) => one.device },
    { title: 'Name', value: (one: ListedDevice) => one.name ?? '-' },
    { title: 'State', value: (one: ListedDevice) => one.state },
    { title: 'Since', value: (one: ListedDevice) => local(one, one.since) },
    { title: 'Reason', value: (one: ListedDevice) => one.reason ?? '-' },
    { title: 'Last seen', value: (one: ListedDevice) => local(one, one.lastSeen) },
  ];
  const table = formatTable(columns, listed, columnsMax);
  return listed.every(({ since }) => since === null) ? `${table}\n${nobodySaid}` : table;
}

const nobodySaid =
  'No device has been reported online or offline. Set stream.deviceTimeout to report silent devices as offline.\n';
