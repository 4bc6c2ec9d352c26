import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import { commandLineError } from './command-line-error.ts';

/** Names that an error lists. */
const NAMES_SHOWN_MAX = 20;

/**
 * The id of a device of the command line.
 * @throws InputError if the text is neither an id nor a configured name
 */
export function chooseDevice(workgroup: WorkgroupConfig, text: string, path = 'device'): string {
  const id = findDevice(workgroup, text);
  if (id !== undefined) return id;
  throw commandLineError(
    path,
    `"${text}" is neither a device id (a UUID) nor a configured name of workgroup ${workgroup.id}${deviceNames(workgroup)}`,
  );
}

/** The configured names of devices, as the end of an error. */
export function deviceNames({ devices }: WorkgroupConfig): string {
  const names = devices.flatMap(({ name }) => name ?? []);
  return names.length > 0 ? `; configured names are ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}` : '';
}
