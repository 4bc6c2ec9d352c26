import type { Problem } from '../lib/errors.ts';
import { HOUR_MS } from '../lib/time.ts';
import type { Config, WorkgroupConfig } from './config.ts';
import { type EnergyStream, modulusWhOf } from './energy-stream.ts';
import { oldNamesOf } from './old-names.ts';
import { settingPlace } from './workgroup-place.ts';

/** The assumed time between readings if it is unknown. */
const USUAL_STEP_MS = HOUR_MS / 4;
const registers: readonly EnergyStream['method'][] = ['total_energy', 'daily_energy'];

/** Allowed settings that are probably wrong, with what to change, by path. */
export function configWarnings(config: Config): Problem[] {
  const { workgroups } = config;
  if (workgroups.length === 0) {
    return [
      {
        path: 'workgroups',
        message: 'no workgroup is configured; if wattline.yaml is in another folder, name it with --config',
      },
    ];
  }
  return [
    ...oldNamesOf(config),
    ...workgroups.flatMap((workgroup, index) =>
      workgroupWarnings(workgroup).map(({ path, message }) => ({
        path: settingPlace(workgroup, index, path),
        message,
      })),
    ),
  ];
}

/** Like `configWarnings`, for one workgroup. */
export function workgroupWarnings(workgroup: WorkgroupConfig): Problem[] {
  const { id, energyStreams } = workgroup;
  if (energyStreams.length === 0) {
    const message = `workgroup "${id}" has no energyStreams, so no energy is computed for it`;
    return [{ path: 'energyStreams', message }];
  }
  return [
    ...oldNamesOf(workgroup),
    ...energyStreams.flatMap((stream, index) =>
      streamWarnings(stream, workgroup, index).map(({ path, message }) => ({
        path: `energyStreams.${index}.${path}`,
        message,
      })),
    ),
    ...deviceWarnings(workgroup),
  ];
}

function streamWarnings(stream: EnergyStream, workgroup: WorkgroupConfig, index: number): Problem[] {
  return [
    ...readTwice(stream, workgroup.energyStreams.slice(0, index)),
    ...meaningless(stream),
    ...modulusWarnings(stream),
    ...intervalWarnings(stream),
    ...registerChangeWarnings(stream, workgroup),
  ];
}

/** Finds fields that several streams read, by another method or as another source. */
function readTwice(stream: EnergyStream, earlier: readonly EnergyStream[]): Problem[] {
  const { table, field, method } = stream;
  const same = earlier.filter((other) => other.table === table && other.field === field);
  const another = same.find((other) => other.method !== method);
  if (another) {
    const message = `${table}.${field} is also read by ${another.method}; remove one of them`;
    return [{ path: 'field', message }];
  }
  const counted = same.find(
    ({ direction }) =>
      direction === undefined || stream.direction === undefined || direction === stream.direction,
  );
  if (!counted) return [];
  const advice = registers.includes(method)
    ? 'remove one'
    : 'give one direction: positive and the other direction: negative, or remove one';
  const message = `the energy of ${table}.${field} counts twice, ${sourceText(counted)} and ${sourceText(stream)}; ${advice}`;
  return [{ path: 'as', message }];
}

function sourceText({ as }: EnergyStream): string {
  return as === undefined ? 'as the source of the messages' : `as ${as}`;
}

/** Finds settings that the method ignores. */
function meaningless(stream: EnergyStream): Problem[] {
  const { method, sampling } = stream;
  const isRegister = registers.includes(method);
  const isSampled = method === 'power_curve';
  const hasInterval = method === 'interval_energy' || (isSampled && sampling === 'interval_average');
  const settings: Array<[name: keyof EnergyStream, isSet: boolean, means: boolean]> = [
    ['maxPower', stream.maxPower !== undefined, stream.register !== 'net'],
    ['jitter', stream.jitter !== undefined, isRegister && stream.register !== 'net'],
    ['modulus', stream.modulus !== undefined, isRegister && stream.register !== 'net'],
    ['register', stream.register !== 'lifetime', method === 'total_energy'],
    ['registerChanges', stream.registerChanges.length > 0, method === 'total_energy'],
    ['boundary', stream.boundary !== 'interpolate', method === 'total_energy'],
    ['sampling', sampling !== 'instantaneous', isSampled],
    ['label', stream.label !== 'start', hasInterval],
    ['interval', stream.interval !== undefined, hasInterval],
    ['maxGap', stream.maxGap !== undefined, isSampled && sampling === 'instantaneous'],
    ['direction', stream.direction !== undefined, !isRegister],
  ];
  const how = [
    method,
    ...(isSampled ? [`with sampling ${sampling}`] : []),
    ...(stream.register === 'net' ? ['with register net'] : []),
  ].join(' ');
  return settings
    .filter(([, isSet, means]) => isSet && !means)
    .map(([name]) => ({ path: name, message: `has no effect with ${how}; remove it` }));
}

function modulusWarnings(stream: EnergyStream): Problem[] {
  const { modulus, maxPower, method } = stream;
  const modulusWh = modulusWhOf(stream);
  if (modulus === undefined || modulusWh === undefined || !registers.includes(method)) return [];
  const warnings: Problem[] = [];
  if (/^9{3,}$/.test(String(modulus))) {
    const size = modulus + 1;
    warnings.push({
      path: 'modulus',
      message: `a register with the highest value ${modulus} has ${size} values; write ${size}`,
    });
  }
  if (maxPower === undefined) {
    warnings.push({
      path: 'maxPower',
      message:
        'is needed with modulus: without it every large fall counts as a rollover; write the maximum power of the device',
    });
  } else if ((maxPower * USUAL_STEP_MS) / HOUR_MS > 0.1 * modulusWh) {
    const minutes = Math.round((0.1 * modulusWh * 600) / maxPower) / 10;
    warnings.push({
      path: 'modulus',
      message: `${maxPower} W fill a tenth of the register (${modulusWh} Wh) in ${minutes} min, and rollovers between readings that are further apart are missed; check the unit of modulus (${stream.unit}) and maxPower`,
    });
  }
  return warnings;
}

function intervalWarnings({ method, sampling, interval }: EnergyStream): Problem[] {
  const needsInterval =
    method === 'interval_energy' || (method === 'power_curve' && sampling === 'interval_average');
  if (!needsInterval || interval !== undefined) return [];
  return [
    {
      path: 'interval',
      message:
        'is missing, so the usual time between readings is used; write the length of the interval of a value, such as 15m, and which end its time is (label: start or end)',
    },
  ];
}

function registerChangeWarnings(
  { registerChanges, as }: EnergyStream,
  { devices, totalSource }: WorkgroupConfig,
): Problem[] {
  return registerChanges.flatMap(({ device, source }, index): Problem[] => {
    if (as !== undefined && source !== undefined && source !== as) {
      const message = `the energy of this field has the source ${as}, so a change of "${source}" has no effect; write ${as}, or remove source`;
      return [{ path: `registerChanges.${index}.source`, message }];
    }
    if (devices.length === 0) return [];
    const known = devices.find(({ id }) => id === device);
    if (!known) {
      const message = `device ${device} is not in devices; correct it, or add it to devices`;
      return [{ path: `registerChanges.${index}.device`, message }];
    }
    if (source === undefined || !known.sources) return [];
    const total = known.totalSource ?? totalSource;
    const sources = total === undefined ? known.sources : [...known.sources, total];
    if (sources.includes(source)) return [];
    const message = `"${source}" is not a source of that device, which has ${sources.join(', ')}`;
    return [{ path: `registerChanges.${index}.source`, message }];
  });
}

function deviceWarnings({ devices, totalSource }: WorkgroupConfig): Problem[] {
  return devices.flatMap(({ sources = [], totalSource: own }, index): Problem[] => {
    const path = `devices.${index}.sources`;
    const total = own ?? totalSource;
    const warnings: Problem[] = [];
    if (sources.length !== new Set(sources).size)
      warnings.push({ path, message: 'contains a source twice; remove one' });
    if (total !== undefined && sources.includes(total))
      warnings.push({
        path,
        message: `"${total}" is the total source, which is the whole device; remove it here, or remove totalSource if several sources add up to the device`,
      });
    return warnings;
  });
}
