import type { WorkgroupConfig } from './config.ts';

/** The places of workgroups that have separate files. A workgroup of the main file is not in it. */
const places = new WeakMap<WorkgroupConfig, string>();

/** @param place the file and, if it has a list, the index in the list */
export function noteFile(workgroup: WorkgroupConfig, place: string): void {
  places.set(workgroup, place);
}

/**
 * Where a setting of a workgroup is: a path in the main file, or a file and a path in it.
 * @param index of the workgroup in the configuration
 */
export function settingPlace(workgroup: WorkgroupConfig, index: number, path: string): string {
  const place = places.get(workgroup);
  if (place === undefined) return `workgroups.${index}.${path}`;
  return place.endsWith(':') ? `${place} ${path}` : `${place}.${path}`;
}
