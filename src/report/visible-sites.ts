import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { SiteConfig } from '../config/meters.ts';
import { visibleMeters } from './meter-request.ts';

/**
 * The sites that a caller can see: those with all members visible, because a sum without some of them would
 * mislead.
 */
export function visibleSites(
  { meters, sites }: Pick<WorkgroupConfig, 'meters' | 'sites'>,
  authorization: Authorization,
): SiteConfig[] {
  const codes = new Set(visibleMeters(meters, authorization).map(({ code }) => code));
  const { devices } = authorization;
  return sites.filter(
    (site) =>
      site.meters.every(({ code }) => codes.has(code)) &&
      (devices === 'all' || site.devices.every(({ id }) => devices.has(id))),
  );
}
