import type { WorkgroupConfig } from './config.ts';

/**
 * The sources that are declared to stand for whole devices. A device that has its total source is that source and nothing else, even on
 * a day on which it is missing: the sum of the others may count things twice. A device without it is the sum of its sources.
 * @returns tells the total source of a device, whether it has it or not
 */
export function declaredTotals({
  totalSource,
  devices,
}: Pick<WorkgroupConfig, 'totalSource' | 'devices'>): (device: string) => string | undefined {
  const own = new Map(devices.map((device) => [device.id, device.totalSource]));
  return (device) => own.get(device) ?? totalSource;
}
