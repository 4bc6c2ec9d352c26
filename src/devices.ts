import type { WorkgroupConfig } from './config.ts';
import { deviceIdSchema } from './contract/messages.ts';

/**
 * A device by its id or by the name that it is configured with, however it is capitalised.
 * @returns its id, lower case; undefined where it is neither
 */
export function findDevice({ devices }: Pick<WorkgroupConfig, 'devices'>, text: string): string | undefined {
  const wanted = text.trim().toLowerCase();
  const named = devices.find(({ name }) => name?.toLowerCase() === wanted);
  return named?.id ?? (deviceIdSchema.safeParse(wanted).success ? wanted : undefined);
}
