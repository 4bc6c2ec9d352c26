import { StreamError } from '../contract/stream-errors.ts';
import type { Grant, Permission, WorkgroupScope } from './grant.ts';

/** The device groups of the configuration: device ids in lower case by the name of the group. */
export type DeviceGroups = Readonly<Record<string, readonly string[]>>;

export interface Authorization {
  /** The devices that may be read; `all` if the token has no device groups. */
  devices: ReadonlySet<string> | 'all';
}

/**
 * Decides which actions a grant allows in a workgroup. A group that is not configured has no devices.
 * @throws StreamError WorkgroupForbidden, the same whether or not the workgroup exists
 * @throws StreamError InsufficientScope with the required permissions
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

/** The error for a workgroup that the token does not name, or that does not exist. */
export function workgroupForbidden(required: readonly Permission[]): StreamError {
  return new StreamError('WorkgroupForbidden', 'the token gives no access to this workgroup', {
    required: [...required],
  });
}

/** The sets of devices of scopes, because grants are used for many requests. */
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
