import type { RoleSpan } from '../roles/resolve.ts';
import { type SourceRole, WITHIN_SITE } from '../roles/role.ts';
import { addDays, type LocalDate } from '../time.ts';

/** What is balanced: a device, a site or a workgroup. */
export interface BalanceScope {
  id: string;
  /** Whether what is contained in a whole site is contained in it. */
  isSite: boolean;
  /** Whether import and export may be told from what is left: not where that would set several sites off against each other. */
  nets: boolean;
  members: readonly ScopeMember[];
  /** Roles that it is known not to have. */
  absent: readonly SourceRole[];
}

export interface ScopeMember {
  /** Without it all devices. */
  device?: string | undefined;
  /** Without it all sources of the device. */
  source?: string | undefined;
  sign: 1 | -1;
  /** Local days of the workgroup, included. */
  from?: LocalDate | undefined;
  to?: LocalDate | undefined;
}

/** A peak power (kWp) of a device, on local days of the workgroup. */
export interface PeakSpan {
  device: string;
  kWp: number;
  from: LocalDate | undefined;
  to: LocalDate | undefined;
}

/** The rows of JSON as a table. @param columns types by name */
export function rowsSql(parameter: string, columns: Readonly<Record<string, string>>): string {
  return `SELECT unnest(from_json($${parameter}, '${JSON.stringify([columns])}'), recursive := true)`;
}

/** Tables of scopes and their members, for the chapters of sql/balance, with the parameters that they are read from. */
export function scopeTables(scopes: readonly BalanceScope[]) {
  return {
    tables: {
      scope: rowsSql('scopes', { scope_id: 'VARCHAR', is_site: 'BOOLEAN', nets: 'BOOLEAN' }),
      scope_member: rowsSql('scope_members', {
        scope_id: 'VARCHAR',
        device: 'UUID',
        source: 'VARCHAR',
        sign: 'INTEGER',
        valid_from: 'DATE',
        valid_to: 'DATE',
      }),
      scope_absent: rowsSql('scope_absent', { scope_id: 'VARCHAR', role: 'VARCHAR' }),
    },
    parameters: {
      scopes: JSON.stringify(scopes.map(({ id, isSite, nets }) => ({ scope_id: id, is_site: isSite, nets }))),
      scope_members: JSON.stringify(
        scopes.flatMap(({ id, members }) =>
          members.map(({ device, source, sign, from, to }) => ({
            scope_id: id,
            device,
            source,
            sign,
            valid_from: from,
            valid_to: to,
          })),
        ),
      ),
      scope_absent: JSON.stringify(
        scopes.flatMap(({ id, absent }) => absent.map((role) => ({ scope_id: id, role }))),
      ),
    },
  };
}

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

/** Peak powers of devices, each until the next. */
export function peakSpans(
  devices: ReadonlyArray<{
    id: string;
    peakPower?: ReadonlyArray<{ kWp: number; from?: LocalDate | undefined }> | undefined;
  }>,
): PeakSpan[] {
  return devices.flatMap(({ id, peakPower = [] }) => {
    const sorted = peakPower.toSorted((a, b) => ((a.from ?? '') < (b.from ?? '') ? -1 : 1));
    return sorted.map(({ kWp, from }, index) => {
      const next = sorted[index + 1]?.from;
      return { device: id, kWp, from, to: next === undefined ? undefined : addDays(next, -1) };
    });
  });
}

export function peakRows(spans: readonly PeakSpan[]): string {
  return JSON.stringify(
    spans.map(({ device, kWp, from, to }) => ({ device, kwp: kWp, valid_from: from, valid_to: to })),
  );
}
