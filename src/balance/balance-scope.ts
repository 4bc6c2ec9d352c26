import type { WorkgroupConfig } from '../config/config.ts';
import { absentInAll, type SiteConfig } from '../config/meters.ts';
import type { LocalDate } from '../lib/time.ts';
import type { SourceRole } from '../roles/role.ts';
import { jsonRowsSql } from '../warehouse/json-rows.ts';

/** The scope of a balance: a device, a site or a workgroup. */
export interface BalanceScope {
  id: string;
  /** True if `within: site` holds in this scope. */
  isSite: boolean;
  /**
   * True if import and export can be computed from the rest. False if that would balance several sites
   * against each other.
   */
  allowsNetting: boolean;
  members: readonly ScopeMember[];
  /** Roles that it is declared not to have. */
  absent: readonly SourceRole[];
}

interface ScopeMember {
  /** Undefined: all devices. */
  device?: string | undefined;
  /** Undefined: all sources of the device. */
  source?: string | undefined;
  sign: 1 | -1;
  /** Local days of the workgroup, included. */
  from?: LocalDate | undefined;
  to?: LocalDate | undefined;
}

/**
 * The scope of a workgroup as a whole. The rest of one site is not balanced against the rest of another. A
 * role is missing if it is missing in all of its sites.
 */
export function workgroupScope({ sites }: Pick<WorkgroupConfig, 'sites'>): BalanceScope {
  const allowsNetting = sites.filter(({ devices }) => devices.length > 0).length < 2;
  return { id: 'workgroup', isSite: true, allowsNetting, members: [{ sign: 1 }], absent: absentInAll(sites) };
}

/**
 * The scope of a site: its devices. Its meters measure the same energy again. A site without any members is
 * the whole workgroup.
 * @returns a scope without members if the site has only meters
 */
export function siteScope({ name, devices, meters, absent }: SiteConfig): BalanceScope {
  const members: ScopeMember[] =
    devices.length + meters.length === 0
      ? [{ sign: 1 }]
      : devices.map(({ id, source, sign, from, to }) => ({ device: id, source, sign, from, to }));
  return { id: `site/${name}`, isSite: true, allowsNetting: true, members, absent };
}

/** True if a scope has devices that it does not name. */
export function holdsAll({ members }: BalanceScope): boolean {
  return members.some(({ device }) => device === undefined);
}

/** The part of a scope that is one device. */
export function deviceScope(scope: BalanceScope, device: string): BalanceScope {
  const members = scope.members.flatMap((member) =>
    member.device === undefined || member.device === device ? [{ ...member, device }] : [],
  );
  return { ...scope, id: `${scope.id}/${device}`, isSite: false, allowsNetting: true, members };
}

/** Tables of scopes and their members for the chapters of sql/balance, with their parameters. */
export function scopeTables(scopes: readonly BalanceScope[]) {
  return {
    tables: {
      scope: jsonRowsSql('scopes', { scope_id: 'VARCHAR', is_site: 'BOOLEAN', allows_netting: 'BOOLEAN' }),
      scope_member: jsonRowsSql('scope_members', {
        scope_id: 'VARCHAR',
        device: 'UUID',
        source: 'VARCHAR',
        sign: 'INTEGER',
        valid_from: 'DATE',
        valid_to: 'DATE',
      }),
      scope_absent: jsonRowsSql('scope_absent', { scope_id: 'VARCHAR', role: 'VARCHAR' }),
    },
    parameters: {
      scopes: JSON.stringify(
        scopes.map(({ id, isSite, allowsNetting }) => ({
          scope_id: id,
          is_site: isSite,
          allows_netting: allowsNetting,
        })),
      ),
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
