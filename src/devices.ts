import type { WorkgroupConfig } from './config.ts';
import { deviceIdSchema } from './contract/messages.ts';

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

/**
 * A device by its id or by the name that it is configured with, however it is capitalised.
 * @returns its id, lower case; undefined where it is neither
 */
export function findDevice({ devices }: Pick<WorkgroupConfig, 'devices'>, text: string): string | undefined {
  const wanted = text.trim().toLowerCase();
  const named = devices.find(({ name }) => name?.toLowerCase() === wanted);
  return named?.id ?? (deviceIdSchema.safeParse(wanted).success ? wanted : undefined);
}
