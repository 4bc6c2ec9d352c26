import type { WorkgroupConfig } from '../../config/config.ts';
import { workgroupSchema } from '../../config/workgroup-settings.ts';
import { zodProblems } from '../../config/zod-problems.ts';
import { sha256Hex } from '../../lib/durable-files.ts';
import { InputError } from '../../lib/errors.ts';
import { inWords } from '../../lib/input-words.ts';
import type { ParsedCase } from './balance-case-schema.ts';

/* Converts a case of the energy balance to a configuration. */

interface CaseDevice {
  id: string;
  name: string;
  energyRole?: string | undefined;
  totalSource?: string | undefined;
  sources?: string[] | undefined;
  peakPower?: Array<{ kWp: number; from?: string | undefined }> | undefined;
}

export function caseDevicesOf(parsedCase: ParsedCase, idOf: Map<string, string>): CaseDevice[] {
  const described = new Map(
    parsedCase.devices.flatMap(({ id, name, ...rest }) => {
      const known = [name, id].find((text) => text !== undefined && idOf.has(text));
      return known === undefined ? [] : [[known, rest] as const];
    }),
  );
  return [...idOf].map(([name, id]) => {
    const own = parsedCase.sources.filter(({ device }) => device === name);
    const rest = described.get(name);
    const peaks = new Map(
      own.flatMap(({ source, peakPower }) => (peakPower ? [[source, peakPower] as const] : [])),
    );
    return {
      id,
      name,
      energyRole: rest?.energyRole ?? own.find(({ energyRole }) => energyRole)?.energyRole,
      totalSource: rest?.totalSource ?? own.find(({ totalSource }) => totalSource)?.totalSource,
      sources: rest?.sources,
      peakPower: rest?.peakPower ?? (peaks.size === 0 ? undefined : addPeaks([...peaks.values()])),
    };
  });
}

type Peaks = Array<{ kWp: number; from?: string | undefined }>;

/** The peak power of a device: the sum of its sources, from the first day when all of them are known. */
function addPeaks(sources: readonly Peaks[]): Peaks {
  if (sources.length === 1) return sources[0]!;
  const starts = new Set(sources.flatMap((peaks) => peaks.map(({ from }) => from)));
  return [...starts].flatMap((from) => {
    const peaksThen = sources.map(
      (peaks) =>
        peaks
          .filter((one) => (one.from ?? '') <= (from ?? ''))
          .toSorted((a, b) => ((a.from ?? '') < (b.from ?? '') ? -1 : 1))
          .at(-1)?.kWp,
    );
    return peaksThen.some((kWp) => kWp === undefined)
      ? []
      : [{ kWp: peaksThen.reduce<number>((sum, kWp) => sum + kWp!, 0), from }];
  });
}

export function workgroupOf(
  where: string,
  parsedCase: ParsedCase,
  devices: readonly CaseDevice[],
): WorkgroupConfig | InputError {
  const parsed = workgroupSchema.safeParse(
    {
      id: 'case',
      timezone: parsedCase.timezone,
      devices: devices.map((device) => withoutUndefined(device)),
      totalSource: parsedCase.totalSource,
      roles: parsedCase.sources.flatMap(({ device, source, role, negativeRole, within, from, to }) =>
        role == null
          ? []
          : [
              withoutUndefined({
                device,
                source,
                role,
                negativeRole: negativeRole ?? undefined,
                within: within ?? undefined,
                from: from ?? undefined,
                to: to ?? undefined,
              }),
            ],
      ),
    },
    inWords,
  );
  return parsed.success ? parsed.data : new InputError(where, zodProblems(parsed.error));
}

function withoutUndefined(item: object): object {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
}

/** An id that follows from the name, so the order of devices is always the same. */
export function idOfName(name: string): string {
  const hex = sha256Hex(name);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
