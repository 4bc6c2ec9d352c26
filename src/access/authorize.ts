import { StreamError } from '../contract/stream-errors.ts';
import type { Grant, Permission, WorkgroupScope } from './grant.ts';

/** The configuration's device groups: lower-case device ids by group name. */
export type DeviceGroups = Readonly<Record<string, readonly string[]>>;

export interface Authorization {
  /** The devices that may be seen; `all` where the token is not restricted to groups. */
  devices: ReadonlySet<string> | 'all';
}

/**
 * Decides what a grant allows in a workgroup. A group that is not configured holds no device.
 * @throws StreamError WorkgroupForbidden, with the same answer whether or not the workgroup exists
 * @throws StreamError InsufficientScope with the permissions that are needed
 */
export function authorize(
  grant: Grant,
  workgroupId: string,
  required: readonly Permission[],
  groups: DeviceGroups,
): Authorization {
  const scope = Object.hasOwn(grant.scopes, workgroupId) ? grant.scopes[workgroupId] : undefined;
  if (scope === undefined) throw workgroupForbidden(required);
  if (!required.every((permission) => scope.permissions.includes(permission)))
    throw new StreamError('InsufficientScope', `the token needs ${required.join(' and ')} here`, {
      required: [...required],
    });
  return { devices: scope.deviceGroups === undefined ? 'all' : devicesOf(scope, scope.deviceGroups, groups) };
}

/** What a caller hears about a workgroup that its token does not name, or that does not exist. */
export function workgroupForbidden(required: readonly Permission[]): StreamError {
  return new StreamError('WorkgroupForbidden', 'the token gives no access to this workgroup', {
    required: [...required],
  });
}

/** Grants are kept from request to request, and so are the sets that belong to them. */
const deviceSets = new WeakMap<WorkgroupScope, { groups: DeviceGroups; devices: ReadonlySet<string> }>();

function devicesOf(
  scope: WorkgroupScope,
  names: readonly string[],
  groups: DeviceGroups,
): ReadonlySet<string> {
  const known = deviceSets.get(scope);
  if (known?.groups === groups) return known.devices;
  const devices = new Set(names.flatMap((name) => (Object.hasOwn(groups, name) ? groups[name]! : [])));
  deviceSets.set(scope, { groups, devices });
  return devices;
}
