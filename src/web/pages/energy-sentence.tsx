import type { ComponentChildren } from 'preact';
import type { EnergyColumns } from '../facts/energy-columns.ts';
import { compareColumns, gapsOfPeriod } from '../facts/period-facts.ts';
import { isSiteKey } from '../facts/site-key.ts';
import { sumOfKnown } from '../facts/sum-of-known.ts';
import { OTHERS } from '../facts/top-series.ts';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactChange } from '../parts/exact-number.tsx';
import { comparableName, totalOf } from '../pictures/bar-data.ts';
import type { LocalDay } from '../words/local-days.ts';
import { countText, plural } from '../words/number-words.ts';
import type { Grain, ShownPeriod } from '../words/periods.ts';
import { isBalanceRole, roleWords } from '../words/role-words.ts';
import { inPeriod } from '../words/time-words.ts';

/** What the picture of a period shows, in words: how much, compared with what, and what is missing. */
export function energySentence(facts: {
  show: string;
  period: ShownPeriod;
  other: ShownPeriod | undefined;
  grain: Grain;
  columns: EnergyColumns;
  compared: EnergyColumns | undefined;
  today: LocalDay;
}): ComponentChildren {
  const { show, period, other, grain, columns, compared, today } = facts;
  const { firstName, begun, missing, partly, isTodayKnown, doubtful } = gapsOfPeriod(columns, today);
  const isRunning = period.to >= today;
  return (
    <>
      {show === 'balance' || isSiteKey(show) ? balanceWords(columns) : seriesTotal(show, columns)}{' '}
      {isRunning && 'so far '}
      {inPeriod(period)}.{' '}
      {columns.columns.some(({ state }) => state === 'before') &&
        firstName &&
        `The first data are of ${firstName}. `}
      {other && compared && comparedWords(columns, compared, other, grain)}
      {missing > 0 &&
        `${plural(missing, grain)} of ${countText(begun)} ${missing === 1 ? 'has' : 'have'} no data. `}
      {partly > 0 && `On ${plural(partly, grain)} a part is missing. `}
      {!isTodayKnown && 'A part of today is not known yet. '}
      {doubtful > 0 &&
        `${plural(doubtful, grain)} ${doubtful === 1 ? 'is' : 'are'} marked: look before you trust ${doubtful === 1 ? 'it' : 'them'}.`}
    </>
  );
}

function sumOf({ columns, series }: EnergyColumns): number | null {
  return sumOfKnown(columns.map((column) => totalOf(column, series)));
}

function sumOfSeries({ columns, series }: EnergyColumns, key: string): number | null {
  const index = series.findIndex((one) => one.key === key);
  return sumOfKnown(columns.map(({ values }) => values[index]));
}

function seriesTotal(show: string, columns: EnergyColumns) {
  const name = isBalanceRole(show) ? roleWords[show].name.toLowerCase() : show;
  return (
    <>
      <EnergyAmount wh={sumOf(columns)} />{' '}
      {isBalanceRole(show) ? `of ${name}` : `by ${seriesCount(show, columns)}`}
    </>
  );
}

/** Smaller series are shown as one, so they are counted apart. */
function seriesCount(show: string, { series }: EnergyColumns): string {
  const others = series.find(({ key }) => key === OTHERS);
  const own = plural(series.length - (others ? 1 : 0), show.replace(/s$/, ''));
  return others ? `${own} and ${others.name}` : own;
}

function balanceWords(columns: EnergyColumns) {
  const production = sumOfSeries(columns, 'production');
  const consumption = sumOfSeries(columns, 'consumption');
  const imported = sumOfSeries(columns, 'grid_import');
  return (
    <>
      {production !== null && (
        <>
          <EnergyAmount wh={production} /> produced
          {consumption !== null && ', '}
        </>
      )}
      {consumption !== null && (
        <>
          <EnergyAmount wh={consumption} /> used
        </>
      )}
      {production === null && consumption === null && (
        <>
          <EnergyAmount wh={imported} /> from the grid
        </>
      )}
    </>
  );
}

function comparedWords(columns: EnergyColumns, compared: EnergyColumns, other: ShownPeriod, grain: Grain) {
  const { columnCount, nowWh, beforeWh } = compareColumns(columns, compared);
  if (columnCount === 0) return `There is nothing to compare with ${inPeriod(other)}. `;
  if (beforeWh === 0) return undefined;
  return (
    <>
      {comparableName(columns.series).replace(', ', ' is') || 'That is'}{' '}
      <ExactChange value={nowWh} reference={beforeWh} /> {inPeriod(other)}, over the{' '}
      {plural(columnCount, `whole ${grain}`)} that both have.{' '}
    </>
  );
}
