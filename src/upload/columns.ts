import { parseUnit } from './unit.ts';

/** What a column can tell. */
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

/** Names that are understood, without unit, case or blanks. */
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
  /** The unit that its name tells, such as kWh of "energy_kwh" or "Energy (kWh)". */
  unit: string | undefined;
}
export type Columns = Partial<Record<ColumnRole, FoundColumn>>;

/**
 * Finds what the columns of a file mean, by their names.
 * @param given names that were said, by what they mean; they go before all others
 */
export function findColumns(header: readonly string[], given: Partial<Record<ColumnRole, string>>): Columns {
  const found: Columns = {};
  const parsed = header.map((name, index) => ({ index, name, ...splitUnit(name) }));
  for (const role of columnRoles) {
    const said = given[role];
    const match =
      said === undefined
        ? names[role]
            .map((known) => parsed.find(({ base }) => base === known))
            .find((one) => one !== undefined)
        : parsed.find(({ name }) => name === said);
    if (match) found[role] = { index: match.index, name: match.name, unit: match.unit };
  }
  return found;
}

/** `AC System Output (kWh)` is `ac_system_output` in kWh, `energy_kwh` is `energy` in kWh. */
function splitUnit(name: string): { base: string; unit: string | undefined } {
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
