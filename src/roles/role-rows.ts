import { addDays, type LocalDate } from '../lib/time.ts';
import type { RoleSpan } from './resolve-roles.ts';
import { WITHIN_SITE } from './role.ts';

/** Columns of the spans of roles, as the chapters of sql/balance read them. */
export const roleSpanColumns = {
  device: 'UUID',
  source: 'VARCHAR',
  role: 'VARCHAR',
  negative_role: 'VARCHAR',
  within_device: 'UUID',
  within_source: 'VARCHAR',
  within_site: 'BOOLEAN',
  valid_from: 'DATE',
  valid_to: 'DATE',
} as const;

/** Spans of roles as JSON, with `roleSpanColumns`. */
export function roleSpanRows(spans: readonly RoleSpan[]): string {
  return JSON.stringify(
    spans.map(({ device, source, role, negativeRole, within, from, to }) => ({
      device,
      source,
      role,
      negative_role: negativeRole,
      ...(typeof within === 'object' && { within_device: within.device, within_source: within.source }),
      within_site: within === WITHIN_SITE,
      valid_from: from,
      valid_to: to,
    })),
  );
}

export const peakColumns = { device: 'UUID', kwp: 'DOUBLE', valid_from: 'DATE', valid_to: 'DATE' } as const;

/** The configured peak power of devices. */
export type PeakDevices = ReadonlyArray<{
  id: string;
  peakPower?: ReadonlyArray<{ kWp: number; from?: LocalDate | undefined }> | undefined;
}>;

/** Peak powers of devices as JSON, with `peakColumns`. Each is valid until the next. */
export function peakRows(devices: PeakDevices): string {
  return JSON.stringify(
    devices.flatMap(({ id, peakPower = [] }) => {
      const sorted = peakPower.toSorted((a, b) => ((a.from ?? '') < (b.from ?? '') ? -1 : 1));
      return sorted.map(({ kWp, from }, index) => {
        const next = sorted[index + 1]?.from;
        return { device: id, kwp: kWp, valid_from: from, valid_to: next && addDays(next, -1) };
      });
    }),
  );
}
