import type { z } from 'zod';
import { findDevice } from '../config/find-device.ts';
import {
  createRoleResolver,
  isLike,
  isPattern,
  keyText,
  parseSourceKey,
  type Resolved,
  type RoleResolver,
  type RoleSettings,
  type SourceKey,
} from './resolve-roles.ts';
import { type RoleEntry, type SourceRole, WITHIN_SITE } from './role.ts';
import { anyDayOf, type DateSpan, includesDay, overlap, splitIntoSpans } from './role-dates.ts';

/** The parts of a workgroup that roles must agree with. */
interface RoledWorkgroup extends RoleSettings {
  roles: readonly RoleEntry[];
  devices: ReadonlyArray<{
    id: string;
    name?: string | undefined;
    totalSource?: string | undefined;
    sources?: readonly string[] | undefined;
    energyRole?: SourceRole | undefined;
  }>;
  meters: ReadonlyArray<{
    code: string;
    direction?: 'production' | 'consumption' | 'import' | 'export' | undefined;
    device?: string | undefined;
    source?: string | undefined;
  }>;
  sites: ReadonlyArray<{
    name: string;
    absent: readonly SourceRole[];
    devices: ReadonlyArray<{ id: string; source?: string | undefined }>;
  }>;
}

type Refuse = (path: Array<string | number>, message: string) => void;

/** Problems that need roles, devices, meters and sites together. */
export function refuseWrongRoles(workgroup: RoledWorkgroup, context: z.RefinementCtx): void {
  const refuse: Refuse = (path, message) => context.addIssue({ code: 'custom', path, message });
  const resolver = createRoleResolver(workgroup);
  const isKnown = refuseUnknownDevices(workgroup, refuse);
  refuseTwoExact(workgroup, refuse);
  refuseMeters(workgroup, resolver, refuse);
  refuseAbsent(workgroup, resolver, refuse);
  // An unknown device is reported once.
  if (isKnown) refuseContained(workgroup, resolver, refuse);
}

function refuseUnknownDevices({ roles, devices }: RoledWorkgroup, refuse: Refuse): boolean {
  const names = devices.flatMap(({ name }) => name ?? []);
  const known = names.length === 0 ? 'devices is empty' : `devices has ${listOf(names)}`;
  let isKnown = true;
  for (const [index, { device, within }] of roles.entries()) {
    if (device !== undefined && findDevice({ devices }, device) === undefined) {
      refuse(['roles', index, 'device'], `"${device}" is neither the id nor the name of a device; ${known}`);
      isKnown = false;
    }
    if (within === undefined || within === WITHIN_SITE || !within.includes('.')) continue;
    if (parseSourceKey(within, devices) === undefined) {
      refuse(
        ['roles', index, 'within'],
        `"${within}" must begin with the id or the name of a device and a dot; ${known}`,
      );
      isKnown = false;
    }
  }
  return isKnown;
}

/** An exact device and source has one role on a day. */
function refuseTwoExact({ roles, devices }: RoledWorkgroup, refuse: Refuse): void {
  const exact = roles.map((entry) => {
    const { device, source } = entry;
    if (device === undefined || source === undefined || isPattern(source)) return undefined;
    return { entry, key: keyText({ device: findDevice({ devices }, device) ?? device, source }) };
  });
  for (const [index, exactRole] of exact.entries()) {
    const twin = exact.findIndex(
      (other, otherIndex) =>
        otherIndex < index &&
        exactRole !== undefined &&
        other?.key === exactRole.key &&
        overlap(other.entry, exactRole.entry),
    );
    if (twin < 0) continue;
    const { device, source } = exactRole!.entry;
    refuse(
      ['roles', index, 'source'],
      `device "${device}", source "${source}" already has a role at that time (roles.${twin}, ${exact[twin]!.entry.role}); end one (to) before the other begins (from)`,
    );
  }
}

const roleOfDirection = {
  production: 'production',
  consumption: 'consumption',
  import: 'grid_import',
  export: 'grid_export',
} as const satisfies Record<string, SourceRole>;

function refuseMeters({ meters, devices }: RoledWorkgroup, resolver: RoleResolver, refuse: Refuse): void {
  for (const [index, { code, direction, device, source }] of meters.entries()) {
    if (direction === undefined || device === undefined) continue;
    const expectedRole = roleOfDirection[direction];
    const says = `meter "${code}" has direction: ${direction}, which means ${expectedRole}`;
    if (source === undefined) {
      const role = devices.find(({ id }) => id === device)?.energyRole;
      if (role !== undefined && role !== expectedRole)
        refuse(
          ['meters', index, 'direction'],
          `${says}, and the energyRole of its device is ${role}; correct one of them`,
        );
      continue;
    }
    const other = resolver
      .spansOf({ device, source })
      .find(
        ({ role, negativeRole }) =>
          role !== 'other' && role !== expectedRole && negativeRole !== expectedRole,
      );
    if (other)
      refuse(
        ['meters', index, 'direction'],
        `${says}, and its source has the role ${other.role} (roles.${other.index}); correct one of them`,
      );
  }
}

/** A role that a source of the site has cannot be absent. */
function refuseAbsent({ sites }: RoledWorkgroup, resolver: RoleResolver, refuse: Refuse): void {
  for (const [index, { absent, devices }] of sites.entries()) {
    for (const [roleIndex, role] of absent.entries()) {
      const source = resolver.named.find(
        (key) =>
          devices.some((one) => one.id === key.device && (one.source ?? key.source) === key.source) &&
          resolver.spansOf(key).some((span) => span.role === role || span.negativeRole === role),
      );
      if (source)
        refuse(
          ['sites', index, 'absent', roleIndex],
          `source "${source.source}" of device ${source.device} has the role ${role}; remove it here, or correct the role`,
        );
    }
  }
}

/** A contained source must have the role of its container, and no source may contain itself. */
function refuseContained(workgroup: RoledWorkgroup, resolver: RoleResolver, refuse: Refuse): void {
  const { roles, devices } = workgroup;
  for (const [index, entry] of roles.entries()) {
    if (entry.within === undefined || entry.within === WITHIN_SITE) continue;
    const parent = parseSourceKey(entry.within, devices);
    if (!parent) continue;
    const wrong = wrongParent(entry, parent, resolver);
    if (wrong !== undefined) {
      refuse(['roles', index, 'within'], wrong);
      continue;
    }
    if (isWithinOwnPart(parent, index, workgroup, resolver)) {
      refuse(
        ['roles', index, 'within'],
        `"${entry.within}" is a part of the total source of its device, which contains it already; remove within here`,
      );
      continue;
    }
    const circle = circleFrom(parent, index, resolver);
    if (circle)
      refuse(
        ['roles', index, 'within'],
        `forms a circle: ${nameCircle(circle, devices)}; remove one of them`,
      );
  }
}

function wrongParent(entry: RoleEntry, parent: SourceKey, resolver: RoleResolver): string | undefined {
  const spans = resolver.spansOf(parent).filter((span) => overlap(span, entry));
  if (spans.length === 0)
    return `"${entry.within}" has no role at that time, so it cannot contain this source; give it role ${entry.role}`;
  const unlike = spans.find((span) => !isLike(span, entry));
  if (unlike)
    return `"${entry.within}" has the role ${rolesOf(unlike)} (roles.${unlike.index}) and this source has ${rolesOf(entry)}: a source can only be within a source of its own role`;
  return undefined;
}

/** True if an entry puts a total source within another source of its device, which it already contains. */
function isWithinOwnPart(
  parent: SourceKey,
  index: number,
  { devices, totalSource }: RoledWorkgroup,
  resolver: RoleResolver,
): boolean {
  const total = devices.find(({ id }) => id === parent.device)?.totalSource ?? totalSource;
  if (total === undefined || total === parent.source) return false;
  return resolver.spansOf({ device: parent.device, source: total }).some((span) => span.index === index);
}

function rolesOf({ role, negativeRole }: Pick<RoleEntry, 'role' | 'negativeRole'>): string {
  return negativeRole === undefined ? role : `${role}/${negativeRole}`;
}

/** Follows the containers of a source, day by day. @returns the circle, if there is one */
function circleFrom(start: SourceKey, index: number, resolver: RoleResolver): SourceKey[] | undefined {
  const stretches = splitIntoSpans(allSpans(start, resolver));
  for (const stretch of stretches) {
    const seen: SourceKey[] = [];
    let current: SourceKey | undefined = start;
    while (current !== undefined) {
      const key: SourceKey = current;
      if (seen.some((one) => keyText(one) === keyText(key))) break;
      seen.push(key);
      const span: Resolved | undefined = resolver
        .spansOf(key)
        .find((one) => includesDay(one, anyDayOf(stretch)));
      if (span?.index === index) return [...seen, start];
      current = typeof span?.within === 'object' ? span.within : undefined;
    }
  }
  return undefined;
}

/** The spans of a source and of all sources that contain it. */
function allSpans(start: SourceKey, resolver: RoleResolver): DateSpan[] {
  const spans: DateSpan[] = [];
  const seen = new Set<string>();
  let waiting = [start];
  while (waiting.length > 0) {
    const own = waiting
      .filter((key) => !seen.has(keyText(key)))
      .flatMap((key) => {
        seen.add(keyText(key));
        return resolver.spansOf(key);
      });
    spans.push(...own);
    waiting = own.flatMap(({ within }) => (typeof within === 'object' ? [within] : []));
  }
  return spans;
}

function nameCircle(circle: readonly SourceKey[], devices: RoledWorkgroup['devices']): string {
  return circle
    .map(({ device, source }) => `${devices.find(({ id }) => id === device)?.name ?? device}.${source}`)
    .join(' within ');
}

function listOf(names: readonly string[]): string {
  const list = names.slice(0, 20).join(', ');
  return names.length > 20 ? `${list} and ${names.length - 20} more` : list;
}
