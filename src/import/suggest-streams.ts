import { type EnergyMethod, energyMethods } from '../energy-stream.ts';
import { parseUnit, unitFactor } from '../units.ts';
import type { FieldStats } from './field-stats.ts';

/** An energy stream that may read a field, guessed from the name of the field and its values. */
export interface SuggestedStream {
  field: string;
  method: EnergyMethod;
  /** Undefined where the name does not say it. */
  unit: string | undefined;
  /** What the values look like. */
  why: string;
}

const powerNames = /power|leistung|puissance|potencia|watt|^p[_ -]?(ac|dc|v|pv)?\d*$/i;
const energyNames =
  /energ|ertrag|yield|erzeug|verbrauch|bezug|einspeis|import|export|consum|product|z(ä|ae)hler|meter|counter|register|total|wh\b/i;
const dayNames = /today|daily|day|heute|tag|jour|hoy/i;
const countNames = /^(id|index|row|no|nr)$|time|uptime|count$|seconds/i;
/** Of a lifetime register so many steps may fall: some loggers repeat rows or round. */
const FALLS_PART_MAX = 0.005;
const RISES_MIN = 3;

/**
 * The energy streams that would read fields, the best first: registers, then energy of intervals, then power. A field that looks like
 * neither energy nor power is left out.
 */
export function suggestStreams(fields: readonly FieldStats[]): SuggestedStream[] {
  return fields
    .flatMap((stats) => suggestStream(stats) ?? [])
    .sort((one, other) => energyMethods.indexOf(one.method) - energyMethods.indexOf(other.method));
}

function suggestStream(stats: FieldStats): SuggestedStream | undefined {
  const { field, min, max, values, texts } = stats;
  if (min === null || max === null || texts > values / 2) return undefined;
  const said = unitOf(field);
  if (said === 'another' || countNames.test(field)) return undefined;
  const unit = said?.unit;
  const shape = shapeOf(stats);
  const isPower = said ? said.dimension === 'power' : powerNames.test(field);
  const isEnergy = said ? said.dimension === 'energy' : !isPower && energyNames.test(field);
  const range = `${plain(min)} to ${plain(max)}`;
  if (isPower) return { field, method: 'power_curve', unit, why: `${words[shape]}, ${range}` };
  // Without a name that says so only a register looks like energy.
  if (!isEnergy && (shape === 'varies' || shape === 'still' || min < 0 || stats.rises < RISES_MIN))
    return undefined;
  return { field, method: methodOf(shape, field), unit, why: `${words[shape]}, ${range}` };
}

type Shape = 'grows' | 'restarts' | 'varies' | 'still';
const words: Readonly<Record<Shape, string>> = {
  grows: 'only grows',
  restarts: 'starts again each day',
  varies: 'rises and falls',
  still: 'does not change',
};

function shapeOf({ rises, falls, restarts, dayRestarts }: FieldStats): Shape {
  if (rises + falls === 0) return 'still';
  if (falls <= FALLS_PART_MAX * (rises + falls)) return 'grows';
  // A register that restarts in the evening or at sunrise restarts once a day all the same.
  if (restarts >= 0.8 * falls && dayRestarts >= 0.5 * restarts && rises > falls) return 'restarts';
  return 'varies';
}

function methodOf(shape: Shape, field: string): EnergyMethod {
  switch (shape) {
    case 'restarts':
      return 'daily_energy';
    case 'grows':
    case 'still':
      return dayNames.test(field) ? 'daily_energy' : 'total_energy';
    case 'varies':
      return 'interval_energy';
    default:
      return shape satisfies never;
  }
}

/** The unit that a name ends with: `Total (kWh)`, `power_w`. */
function unitOf(field: string): { unit: string; dimension: 'energy' | 'power' } | 'another' | undefined {
  const bracket = /[([]\s*([^()[\]]+?)\s*[)\]]\s*$/.exec(field)?.[1];
  const text = bracket ?? /[_ /-]([A-Za-z]+)$/.exec(field)?.[1] ?? field;
  const unit = parseUnit(text) ?? ambiguous[text];
  if (unit !== undefined)
    return { unit, dimension: unitFactor('power', unit) === undefined ? 'energy' : 'power' };
  // What stands in brackets and is no unit of energy or power is another one: V, A, °C.
  return bracket === undefined ? undefined : 'another';
}

/** Small letters of which the larger unit is meant: nobody logs milliwatt-hours. */
const ambiguous: Readonly<Record<string, string>> = { mwh: 'MWh', MWH: 'MWh', mw: 'MW', mj: 'MJ' };

function plain(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 3 });
}
