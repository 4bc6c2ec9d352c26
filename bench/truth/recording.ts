import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import type { FieldValue } from '../../src/contract/messages.ts';
import type { UtcMs } from '../../src/lib/time.ts';
import { hash } from '../../src/simulate/noise.ts';
import { configurations, type Field } from './configurations.ts';
import type { Draft, DraftSample, Span } from './draft.ts';
import { faults, faultTurns } from './faults/all.ts';
import type { Fault } from './faults/fault.ts';
import { type TrueDay, trueDays } from './knowledge.ts';
import { type Display, groupOf, type Plan, planRecording, stepWhOf } from './plan.ts';
import { cleanSamples, dailyResets } from './samples.ts';
import { streamsOf } from './streams-of.ts';

/** The readings that one device has sent, and the truth about them. */
export interface Recording {
  number: number;
  /** The number and what goes wrong: `17-night-drift`. */
  id: string;
  /** Names of the faults: none, one or two. */
  faults: string[];
  configuration: string;
  device: string;
  table: string;
  plan: Plan;
  streams: EnergyStreamInput[];
  /** In the order of their arrival. */
  readings: Reading[];
  days: TrueDay[];
  happened: Draft['happened'];
}

export interface Reading {
  stampMs: UtcMs;
  arrivesMs: UtcMs;
  data: Record<string, FieldValue>;
}

/** Two of nine recordings are clean. Of the others about one in six has a second fault. */
const CLEAN_OF_NINE = 2;
const SECOND_OF = 6;

/**
 * @param number from 0 on; the same seed and number give the same recording, however many others there are
 * @param chosen the faults of the recording
 */
export function createRecording(
  seed: number,
  number: number,
  chosen: readonly Fault[] = faultsOf(seed, number),
): Recording {
  const fits = (fields: readonly Field[]) => chosen.every((fault) => fault.fits(fields));
  const plan = planRecording(seed, number, chosen[0]?.wants ?? {}, fits);
  const table = `recording_${number}`;
  const clean = createDraft(plan, table);
  const draft = createDraft(plan, table);
  const apply = (on: Fault['on']) => {
    for (const fault of chosen)
      if (fault.on === on) {
        const spans = fault.apply(draft, plan.chance.of(fault.name));
        draft.happened.push(...spans.map((span: Span) => ({ ...span, fault: fault.name })));
      }
  };
  apply('device');
  for (const sample of draft.samples) sample.data = writeValues(plan, sample);
  apply('values');
  apply('delivery');
  const names = chosen.map(({ name }) => name);
  return {
    number,
    id: [number, ...(names.length > 0 ? names : ['clean'])].join(' ').replaceAll(/[^a-z0-9]+/g, '-'),
    faults: names,
    configuration: `${plan.configuration}${plan.maxPowerW === undefined ? '' : ', maxPower'}`,
    device: deviceIdOf(seed, number),
    table,
    plan,
    streams: draft.streams,
    readings: draft.samples
      .map(({ stampMs, arrivesMs, data }) => ({ stampMs, arrivesMs, data }))
      .sort((one, other) => one.arrivesMs - other.arrivesMs),
    days: trueDays(draft, clean),
    happened: draft.happened,
  };
}

/** Recordings of one zone and season are rolled up together. */
export function groupOfRecording(seed: number, number: number): string {
  return groupOf(seed, number, faultsOf(seed, number)[0]?.wants ?? {});
}

function createDraft(plan: Plan, table: string): Draft {
  const resets = dailyResets(plan, plan.dailyReset);
  return {
    plan,
    samples: cleanSamples(plan, resets).map(
      (sample, index): DraftSample => ({
        ...sample,
        stampMs: sample.atMs,
        arrivesMs: sample.atMs + plan.chance.whole('latency', 300, 5_000, index),
        data: {},
      }),
    ),
    streams: streamsOf(plan, table),
    resetsMs: { total: [], daily: resets },
    hidden: [],
    uncounted: [],
    ambiguous: [],
    unseen: [],
    happened: [],
  };
}

/** Kinds of faults take turns, so that all have the same number of recordings. */
export function faultsOf(seed: number, number: number): Fault[] {
  const place = number % 9;
  if (place < CLEAN_OF_NINE) return [];
  const turn = Math.floor(number / 9) * (9 - CLEAN_OF_NINE) + place - CLEAN_OF_NINE;
  const first = faultTurns[turn % faultTurns.length]!;
  if (hash(seed, number, 1) % SECOND_OF !== 0) return [first];
  // The first fault can decide the plan of the recording. The second one must fit this plan.
  const others = faults.filter(
    (fault) => fault !== first && !fault.wants && !fault.onlyFirst && haveConfiguration([first, fault]),
  );
  return [first, others[hash(seed, number, 2) % others.length]!];
}

function haveConfiguration(chosen: readonly Fault[]): boolean {
  return Object.values(configurations).some((fields) => chosen.every((fault) => fault.fits(fields)));
}

/**
 * The values of a sample that are sent: the fields of the configuration, in their units, with the digits that
 * the device shows.
 */
function writeValues(plan: Plan, sample: DraftSample): Record<string, FieldValue> {
  const written: Record<Field, () => number> = {
    total: () => displayedWh(sample.totalWh, plan.total),
    daily: () => displayedWh(sample.dailyWh, plan.daily),
    power: () => {
      const decimals = plan.device.installedW < 500 ? 1 : 0;
      return plan.powerUnit === 'kW'
        ? Number((sample.powerW / 1_000).toFixed(decimals + 3))
        : Number(sample.powerW.toFixed(decimals));
    },
    energy: () => Number((sample.energyWh / (plan.total.unit === 'kWh' ? 1_000 : 1)).toFixed(3)),
  };
  return Object.fromEntries(plan.fields.map((field) => [field, written[field]()]));
}

/** A register shows the steps that are complete. */
function displayedWh(wh: number, display: Display): number {
  const steps = Math.floor(wh / stepWhOf(display) + 1e-9);
  return Number((steps / 10 ** display.decimals).toFixed(display.decimals));
}

/** A UUID by its looks, which belongs to this seed and number. */
function deviceIdOf(seed: number, number: number): string {
  const hex = [0, 1, 2, 3].map((word) => hash(seed, number, word).toString(16).padStart(8, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}
