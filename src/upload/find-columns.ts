import { parseUnit } from '../lib/units.ts';

/** The meaning of a column. */
export type ColumnRole =
  | 'meter'
  | 'start'
  | 'end'
  | 'time'
  | 'energy'
  | 'value'
  | 'unit'
  | 'quality'
  | 'period'
  | 'year'
  | 'month'
  | 'day'
  | 'hour'
  | 'scenario';

/** Known names, without unit and in lower case. */
const names: Readonly<Record<ColumnRole, readonly string[]>> = {
  meter: ['meter_code', 'meter', 'meter_id', 'code'],
  start: ['interval_start', 'period_start', 'start', 'from', 'begin'],
  end: ['interval_end', 'period_end', 'end', 'to'],
  time: ['time', 'timestamp', 'read_at', 'datetime'],
  energy: [
    'energy',
    'target',
    'budget',
    'production',
    'consumption',
    'yield',
    'ac_system_output',
    'ac_energy',
  ],
  value: ['value', 'register', 'register_value', 'reading', 'meter_reading', 'index'],
  unit: ['unit'],
  quality: ['quality'],
  period: ['period'],
  year: ['year'],
  month: ['month'],
  day: ['day'],
  hour: ['hour'],
  scenario: ['scenario'],
};
export const columnRoles = Object.keys(names) as readonly ColumnRole[];

export interface FoundColumn {
  index: number;
  name: string;
  /** The unit in the name, such as kWh of "energy_kwh" or "Energy (kWh)". */
  unit: string | undefined;
}
export type Columns = Partial<Record<ColumnRole, FoundColumn>>;

/** Longer names have no meaning. */
const NAME_LENGTH_MAX = 200;

/**
 * Finds the meaning of columns by their names.
 * @param given names by meaning, from the user; they come first
 */
export function findColumns(header: readonly string[], given: Partial<Record<ColumnRole, string>>): Columns {
  const candidates = candidatesOf(header, given);
  return Object.fromEntries(
    columnRoles.flatMap((role) => candidates[role].slice(0, 1).map((one) => [role, one])),
  );
}

/** The meanings that several columns could have. */
export function findAmbiguous(
  header: readonly string[],
  given: Partial<Record<ColumnRole, string>>,
): Array<{ role: ColumnRole; columns: readonly FoundColumn[] }> {
  const candidates = candidatesOf(header, given);
  return columnRoles
    .map((role) => ({ role, columns: candidates[role] }))
    .filter(({ columns }) => columns.length > 1);
}

/** The columns that could have a meaning, with the most usual name first. */
function candidatesOf(
  header: readonly string[],
  given: Partial<Record<ColumnRole, string>>,
): Record<ColumnRole, FoundColumn[]> {
  const parsed = header.map((name, index) => ({ index, name, ...splitUnit(name) }));
  const matchingColumns = (role: ColumnRole) => {
    const chosenName = given[role];
    const matching =
      chosenName === undefined
        ? names[role].flatMap((known) => parsed.filter(({ base }) => base === known))
        : parsed.filter(({ name }) => name === chosenName);
    return matching.map(({ index, name, unit }) => ({ index, name, unit }));
  };
  return Object.fromEntries(columnRoles.map((role) => [role, matchingColumns(role)])) as Record<
    ColumnRole,
    FoundColumn[]
  >;
}

/** `AC System Output (kWh)` is `ac_system_output` in kWh, `energy_kwh` is `energy` in kWh. */
function splitUnit(name: string): { base: string; unit: string | undefined } {
  if (name.length > NAME_LENGTH_MAX) return { base: '', unit: undefined };
  const bracket = /^(.*?)\s*[([]\s*([^()[\]]+?)\s*[)\]]$/.exec(name.trim());
  const tail = bracket ?? /^(.*?)[_ ]([A-Za-z]+)$/.exec(name.trim());
  const unit = tail ? parseUnit(tail[2]!) : undefined;
  const base = unit === undefined ? name : tail![1]!;
  return {
    base: base
      .trim()
      .toLowerCase()
      .replaceAll(/[\s-]+/g, '_'),
    unit,
  };
}
