import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';

/** What an export asks for, whenever and in whatever format: files of another question are no older state of the same. */
export function questionOf(
  { report, groupBy, devices, meters, site, scenario, resolution }: ExportConfig,
  { timezone }: Pick<WorkgroupConfig, 'timezone'>,
): string {
  return JSON.stringify({ report, groupBy, devices, meters, site, scenario, resolution, timezone });
}
