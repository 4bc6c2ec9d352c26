import { configSchema, type WorkgroupConfig } from '../../src/config/config.ts';

export const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
/** A time after all imported readings. */
export const NOW_MS = Date.UTC(2030, 0, 1);

export function testWorkgroup(more: Record<string, unknown> = {}): WorkgroupConfig {
  return configSchema.parse({ workgroups: [{ id: 'acme', ...more }] }).workgroups[0]!;
}
