import type { Problem } from '../lib/errors.ts';
import { HOUR_MS } from '../lib/time.ts';
import type { Config, WorkgroupConfig } from './config.ts';
import { type EnergyStream, modulusWhOf } from './energy-stream.ts';

/** Readings are taken to come at least this often, where nothing is known of them. */
const USUAL_STEP_MS = HOUR_MS / 4;
const registers: readonly EnergyStream['method'][] = ['total_energy', 'daily_energy'];

/** What is allowed and yet hardly meant, with what to change, by its path in the configuration. */
export function configWarnings({ workgroups }: Config): Problem[] {
  if (workgroups.length === 0) {
    return [
      {
        path: 'workgroups',
        message:
          'none is configured, so there is nothing to work on; where wattline.yaml is elsewhere, name it with --config',
      },
    ];
  }
  return workgroups.flatMap((workgroup, index) =>
    workgroupWarnings(workgroup).map(({ path, message }) => ({
      path: `workgroups.${index}.${path}`,
      message,
    })),
  );
}

/** As `configWarnings`, of one workgroup, by the path below it. */
export function workgroupWarnings(workgroup: WorkgroupConfig): Problem[] {
  const { id, energyStreams } = workgroup;
  if (energyStreams.length === 0) {
    const message = `workgroup "${id}" has no energyStreams, so no energy is computed for it`;
    return [{ path: 'energyStreams', message }];
  }
  return [
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
    ...epochWarnings(stream, workgroup),
  ];
}

/** A field that an earlier stream reads too: by another method, or as another source although it is the same energy. */
function readTwice(stream: EnergyStream, earlier: readonly EnergyStream[]): Problem[] {
  const { table, field, method } = stream;
  const same = earlier.filter((other) => other.table === table && other.field === field);
  const another = same.find((other) => other.method !== method);
  if (another) {
    const message = `${table}.${field} is read by ${another.method} too, and it is only one of them; remove the other`;
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
  const message = `the energy of ${table}.${field} is booked ${sourceText(counted)} and ${sourceText(stream)}, the same Wh twice; ${advice}`;
  return [{ path: 'as', message }];
}

function sourceText({ as }: EnergyStream): string {
  return as === undefined ? 'as the source that messages name' : `as ${as}`;
}

/** Settings that the method does not look at. */
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
    ['registerEpochs', stream.registerEpochs.length > 0, method === 'total_energy'],
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
    .map(([name]) => ({ path: name, message: `has no meaning for ${how}; remove it` }));
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
      message: `a register that shows ${modulus} at most has room for ${size} values; write ${size}`,
    });
  }
  if (maxPower === undefined) {
    warnings.push({
      path: 'maxPower',
      message:
        'is needed beside modulus: without it any fall from the top of the register to its bottom is taken for a rollover; write the most power that the device can have',
    });
  } else if ((maxPower * USUAL_STEP_MS) / HOUR_MS > 0.1 * modulusWh) {
    const minutes = Math.round((0.1 * modulusWh * 600) / maxPower) / 10;
    warnings.push({
      path: 'modulus',
      message: `the register has room for ${modulusWh} Wh, a tenth of which ${maxPower} W fill in ${minutes} min: rollovers between readings that are further apart are missed; check that modulus is in ${stream.unit}, and maxPower`,
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
        'is not given, so the usual time between two readings is taken for it; write how long the interval of a value is, such as 15m, and which end it is labelled with (label: start or end)',
    },
  ];
}

function epochWarnings({ registerEpochs, as }: EnergyStream, { devices }: WorkgroupConfig): Problem[] {
  return registerEpochs.flatMap(({ device, source }, index): Problem[] => {
    if (as !== undefined && source !== undefined && source !== as) {
      const message = `the energy of this field is booked as ${as}, so a change of "${source}" is none of it; write ${as}, or remove source`;
      return [{ path: `registerEpochs.${index}.source`, message }];
    }
    if (devices.length === 0) return [];
    const known = devices.find(({ id }) => id === device);
    if (!known) {
      const message = `device ${device} is not one of devices; correct it, or add it there`;
      return [{ path: `registerEpochs.${index}.device`, message }];
    }
    const sources = [...(known.sources ?? []), ...(known.totalSource ? [known.totalSource] : [])];
    if (source === undefined || !known.sources || sources.includes(source)) return [];
    const message = `"${source}" is not a source of that device, which has ${sources.join(', ')}`;
    return [{ path: `registerEpochs.${index}.source`, message }];
  });
}

function deviceWarnings({ devices, totalSource }: WorkgroupConfig): Problem[] {
  return devices.flatMap(({ sources = [], totalSource: own }, index): Problem[] => {
    const path = `devices.${index}.sources`;
    const total = own ?? totalSource;
    const warnings: Problem[] = [];
    if (sources.length !== new Set(sources).size)
      warnings.push({ path, message: 'names a source twice; remove one' });
    if (total !== undefined && sources.includes(total))
      warnings.push({
        path,
        message: `"${total}" is the total source, which stands for the whole device by itself; remove it here, or from totalSource where it is one of several that add up`,
      });
    return warnings;
  });
}
