import type { WorkgroupConfig } from '../config.ts';
import { declaredTotals } from '../devices.ts';
import { query } from '../warehouse/query.ts';
import type { Generation, LakeReader } from './lake.ts';

/** The source that stands for the whole device, by device, for the devices that have one. */
export type TotalSources = ReadonlyMap<string, string>;

/** Which sources each device has. */
export type DeviceSources = ReadonlyMap<string, ReadonlySet<string>>;

/** The devices that have the source which is declared to stand for them. */
export function totalSourcesOf(
  workgroup: Pick<WorkgroupConfig, 'totalSource' | 'devices'>,
  sources: DeviceSources,
): TotalSources {
  const declared = declaredTotals(workgroup);
  const totals = new Map<string, string>();
  for (const [device, ofDevice] of sources) {
    const total = declared(device);
    if (total !== undefined && ofDevice.has(total)) totals.set(device, total);
  }
  return totals;
}

/** Reads which sources devices have, once for each version of that small file. */
export function createDeviceSources(lake: LakeReader): (generation: Generation) => Promise<DeviceSources> {
  const known = new Map<string, { name: string; sources: DeviceSources }>();
  return async (generation) => {
    const files = generation.files('series');
    const name = files.map((file) => file.name).join();
    const last = known.get(generation.commit.workgroupId);
    if (last?.name === name) return last.sources;
    const sources = new Map<string, Set<string>>();
    if (files.length > 0) {
      const rows = await lake.run((connection) =>
        query<{ device: string; source: string }>(connection, 'report/device-sources', {
          files: files.map(generation.path),
        }),
      );
      for (const { device, source } of rows) {
        const ofDevice = sources.get(device);
        if (ofDevice) ofDevice.add(source);
        else sources.set(device, new Set([source]));
      }
    }
    known.set(generation.commit.workgroupId, { name, sources });
    return sources;
  };
}
