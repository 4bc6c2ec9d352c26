import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';

/**
 * The question of an export, independent of time and format. Only files with the same question are compared.
 */
export function questionOf(
  { report, groupBy, devices, meters, site, scenario, resolution }: ExportConfig,
  { timezone }: Pick<WorkgroupConfig, 'timezone'>,
): string {
  return JSON.stringify({ report, groupBy, devices, meters, site, scenario, resolution, timezone });
}
