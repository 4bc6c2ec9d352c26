import type { BalanceRole } from '../words/role-words.ts';
import type { Balances, DeviceStatuses } from './answers.ts';

const ID_CHARACTERS = 36;

/** The parts of a series key such as `<deviceId>.<source>`, or of a device id alone. */
export function splitSeries(key: string): { device: string; source: string | undefined } {
  return { device: key.slice(0, ID_CHARACTERS), source: key.slice(ID_CHARACTERS + 1) || undefined };
}

/** The configured name of a device, or the beginning of its id. */
export function deviceName(device: string, devices: DeviceStatuses | undefined): string {
  return devices?.[device]?.name ?? device.slice(0, 8);
}

/** Such as "inverter 2 · east". The source is left out if it is the only, unnamed one. */
export function seriesName(key: string, devices: DeviceStatuses | undefined): string {
  const { device, source } = splitSeries(key);
  const name = deviceName(device, devices);
  return source === undefined || source === 'default' ? name : `${name} · ${source}`;
}

/**
 * A function that names these series. If they have only one device, the name of the device is left out. If
 * they all have the same source, the name of the source is left out.
 */
export function namerOf(
  keys: Iterable<string>,
  devices: DeviceStatuses | undefined,
): (key: string) => string {
  const all = [...keys];
  const isOneDevice = new Set(all.map((key) => splitSeries(key).device)).size === 1 && all.length > 1;
  const isOneSource = new Set(all.map((key) => splitSeries(key).source)).size === 1 && all.length > 1;
  return (key) => {
    const { device, source } = splitSeries(key);
    if (isOneDevice && source !== undefined) return source;
    return isOneSource ? deviceName(device, devices) : seriesName(key, devices);
  };
}

/** All series of an answer by day. */
export function seriesOf(days: Readonly<Record<string, object>>): string[] {
  return [...new Set(Object.values(days).flatMap((values) => Object.keys(values)))];
}

/** The role of each series, from the parts of a balance. */
export function rolesOf(balances: Balances | undefined): Map<string, BalanceRole> {
  const roles = new Map<string, BalanceRole>();
  for (const { parts } of Object.values(balances ?? {}))
    for (const { device, source, role } of parts) roles.set(`${device}.${source}`, role);
  return roles;
}

/** The roles of devices. A device is left out if its sources have different roles. */
export function rolesOfDevices(balances: Balances | undefined): Map<string, BalanceRole> {
  const found = new Map<string, Set<BalanceRole>>();
  for (const [key, role] of rolesOf(balances)) {
    const { device } = splitSeries(key);
    found.set(device, (found.get(device) ?? new Set()).add(role));
  }
  return new Map(
    [...found].flatMap(([device, [role, ...others]]) =>
      role && others.length === 0 ? [[device, role]] : [],
    ),
  );
}
