import { comparableOf, isEmpty } from '../pictures/bar-data.ts';
import type { LocalDay } from '../words/local-days.ts';
import type { EnergyColumns } from './energy-columns.ts';

/** The energy of the columns that are whole and known in two periods. */
interface ComparedEnergy {
  columnCount: number;
  nowWh: number;
  beforeWh: number;
}

/**
 * Only columns that are whole and known on both sides are compared. A month that is not over is no measure
 * for a whole one.
 */
export function compareColumns(columns: EnergyColumns, compared: EnergyColumns): ComparedEnergy {
  const sum: ComparedEnergy = { columnCount: 0, nowWh: 0, beforeWh: 0 };
  for (const [index, column] of columns.columns.entries()) {
    const other = compared.columns[index];
    if (!column.isWhole || !other?.isWhole) continue;
    const nowWh = comparableOf(column, columns.series);
    const beforeWh = comparableOf(other, compared.series);
    if (nowWh === null || beforeWh === null) continue;
    sum.columnCount += 1;
    sum.nowWh += nowWh;
    sum.beforeWh += beforeWh;
  }
  return sum;
}

/** What a reader must know before trusting the sum of a period. */
interface PeriodGaps {
  /** The first column that has begun. */
  firstName: string | undefined;
  /** Columns that have begun. */
  begun: number;
  /** Columns before today without data. */
  missing: number;
  /** Columns before today of which only a part is known. */
  partly: number;
  isTodayKnown: boolean;
  doubtful: number;
}

export function gapsOfPeriod({ columns }: EnergyColumns, today: LocalDay): PeriodGaps {
  const begun = columns.filter((column) => !isEmpty(column));
  const past = begun.filter(({ key }) => key !== today);
  return {
    firstName: begun[0]?.name,
    begun: begun.length,
    missing: past.filter(({ state, isPart }) => state === 'missing' && !isPart).length,
    partly: past.filter(
      ({ state, isPart, values }) => isPart || (state !== 'missing' && values.includes(null)),
    ).length,
    isTodayKnown: begun.every(({ key, values }) => key !== today || !values.includes(null)),
    doubtful: begun.filter(({ mark }) => mark === 'bad' || mark === 'doubtful').length,
  };
}
