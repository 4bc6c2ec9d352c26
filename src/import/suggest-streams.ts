import { type EnergyMethod, energyMethods } from '../config/energy-stream.ts';
import { parseUnit, unitFactor } from '../lib/units.ts';
import { suggestRole } from '../roles/suggest-roles.ts';
import type { FieldStats } from './field-stats.ts';

/** An energy stream that could read a field, guessed from the name of the field and its values. */
export interface SuggestedStream {
  field: string;
  method: EnergyMethod;
  /** Undefined if the name has no unit. */
  unit: string | undefined;
  /**
   * The source under which it is stored. Set if the names of several fields say that they measure different
   * amounts.
   */
  as?: string;
  /** The observation about the values. */
  why: string;
}

const powerNames = /power|leistung|puissance|potencia|watt|^p[_ -]?(ac|dc|v|pv)?\d*$/i;
const energyNames =
  /energ|ertrag|yield|erzeug|verbrauch|bezug|einspeis|import|export|consum|product|z(ä|ae)hler|meter|counter|register|total|wh\b/i;
const dayNames = /today|daily|day|heute|tag|jour|hoy/i;
const totalNames = /total|gesamt|lifetime|cumul|stand$/i;
const countNames = /^(id|index|row|no|nr)$|time|uptime|count$|seconds/i;
/** Nearly all steps of a register rise. Power falls as much as it rises. */
const NET_GROWTH_MIN = 0.5;
/**
 * A daily register restarts once a day. The limit is higher, because averages and drop-outs look like
 * restarts too.
 */
const RESTARTS_PER_DAY_MAX = 2;
/** With fewer restarts than this it is a lifetime register, which drops out on one day in ten at most. */
const RESTARTS_PER_DAY_MIN = 0.3;

/**
 * Suggests energy streams for fields, best first: registers, then energy of intervals, then power. Fields
 * that look like neither energy nor power are left out.
 */
export function suggestStreams(fields: readonly FieldStats[]): SuggestedStream[] {
  const suggested = fields
    .flatMap((stats) => suggestStream(stats) ?? [])
    .sort((one, other) => energyMethods.indexOf(one.method) - energyMethods.indexOf(other.method));
  return withSources(suggested);
}

/**
 * Gives import and export different sources. If they had the same source, only the first field that covers a
 * day would count.
 */
function withSources(suggested: readonly SuggestedStream[]): SuggestedStream[] {
  const roleOf = ({ field }: SuggestedStream) => suggestRole(field)?.role;
  const roles = new Set(suggested.map(roleOf).filter((role) => role !== undefined));
  if (roles.size < 2) return [...suggested];
  return suggested.map((stream) => {
    const as = roleOf(stream);
    return as === undefined ? stream : { ...stream, as };
  });
}

function suggestStream(stats: FieldStats): SuggestedStream | undefined {
  const { field, min, max, values, texts } = stats;
  if (min === null || max === null || texts > values / 2) return undefined;
  const unitInName = unitOf(field);
  if (unitInName === 'another' || countNames.test(field)) return undefined;
  const unit = unitInName?.unit;
  const shape = shapeOf(stats);
  const isPower = unitInName ? unitInName.dimension === 'power' : powerNames.test(field);
  const isEnergy = unitInName ? unitInName.dimension === 'energy' : !isPower && energyNames.test(field);
  const range = `${plain(min)} to ${plain(max)}`;
  if (isPower) return { field, method: 'power_curve', unit, why: `${words[shape]}, ${range}` };
  // Without a matching name only a register looks like energy.
  if (!isEnergy && (shape === 'varies' || shape === 'still' || min < 0)) return undefined;
  return { field, method: methodOf(shape, field), unit, why: `${words[shape]}, ${range}` };
}

type Shape = 'grows' | 'restarts' | 'varies' | 'still';
const words: Readonly<Record<Shape, string>> = {
  grows: 'only grows',
  restarts: 'restarts each day',
  varies: 'rises and falls',
  still: 'does not change',
};

function shapeOf({ risen, fallen, restarts, dropOuts, dayChanges }: FieldStats): Shape {
  if (risen + fallen === 0) return restarts + dropOuts === 0 ? 'still' : 'varies';
  if (risen - fallen < NET_GROWTH_MIN * (risen + fallen)) return 'varies';
  if (restarts === 0 || restarts < RESTARTS_PER_DAY_MIN * dayChanges) return 'grows';
  return restarts <= RESTARTS_PER_DAY_MAX * Math.max(1, dayChanges) ? 'restarts' : 'varies';
}

function methodOf(shape: Shape, field: string): EnergyMethod {
  switch (shape) {
    case 'restarts':
      return 'daily_energy';
    case 'grows':
    case 'still':
      return dayNames.test(field) ? 'daily_energy' : 'total_energy';
    case 'varies':
      // Averages and drop-outs hide the shape of a register, so the name decides.
      if (dayNames.test(field)) return 'daily_energy';
      return totalNames.test(field) ? 'total_energy' : 'interval_energy';
    default:
      return shape satisfies never;
  }
}

/** The unit in a name: `Total (kWh)`, `power_w`, `total_wh_out`. */
function unitOf(field: string): { unit: string; dimension: 'energy' | 'power' } | 'another' | undefined {
  const bracket = /[([]\s*([^()[\]]+?)\s*[)\]]\s*$/.exec(field)?.[1];
  const words = bracket === undefined ? field.split(/[^A-Za-z]+/) : [bracket];
  const unit = words
    .filter((word, index) => word.length > 1 || index === words.length - 1)
    .map((word) => parseUnit(word) ?? ambiguous[word])
    .findLast((known) => known !== undefined);
  if (unit !== undefined)
    return { unit, dimension: unitFactor('power', unit) === undefined ? 'energy' : 'power' };
  // Another unit in brackets, such as V, A or °C.
  return bracket === undefined ? undefined : 'another';
}

/** Units in lower case mean the larger unit, because nobody logs milliwatt-hours. */
const ambiguous: Readonly<Record<string, string>> = { mwh: 'MWh', MWH: 'MWh', mw: 'MW', mj: 'MJ' };

function plain(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 3 });
}
