import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { sumOfKnown } from '../facts/sum-of-known.ts';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { energyUnit } from '../words/number-words.ts';
import { Mark } from './bar-column.tsx';
import { type BarColumn, type BarSeries, isKnownInPart, isTwoSided, stack, totalOf } from './bar-data.ts';
import { StackedBars } from './stacked-bars.tsx';

/**
 * Stacked bars with a sentence before them and a legend. The legend shows the values of the column that is
 * under the pointer or has the focus.
 */
export function BarFigure(props: {
  /** What the picture shows, in words. It is also what a screen reader reads. */
  sentence: ComponentChildren;
  label: string;
  columns: readonly BarColumn[];
  series: readonly BarSeries[];
  height?: number;
  /** The name of all columns together, for the legend. */
  wholeName: string;
  /** The name of the reference, if the columns have one. */
  referenceName?: string | undefined;
}) {
  const { sentence, label, columns, series, height, wholeName, referenceName } = props;
  const [active, setActive] = useState<number | undefined>();
  const [pointed, setPointed] = useState<string | undefined>();
  const [chosen, setChosen] = useState<string | undefined>();
  const ends = columns.flatMap((column) => stack(column, series).map(({ to }) => Math.abs(to)));
  const unit = energyUnit(Math.max(0, ...ends));
  const shownColumns = active === undefined ? columns : columns.slice(active, active + 1);
  const column = active === undefined ? undefined : columns[active];
  const reference = sumOfKnown(shownColumns.map((one) => one.reference));
  // Energy that comes in and energy that goes out are not added up.
  const isOneSided = !isTwoSided(series);
  const marks = [...new Set(columns.flatMap(({ mark }) => mark ?? []))];
  return (
    <figure class="figure">
      <figcaption>
        <p class="sentence">{sentence}</p>
      </figcaption>
      <StackedBars
        label={label}
        columns={columns}
        series={series}
        unit={unit}
        {...(height !== undefined && { height })}
        active={active}
        onActive={setActive}
        bright={pointed ?? (series.some(({ key }) => key === chosen) ? chosen : undefined)}
      />
      <div class="readout">
        <p class="readout-name">
          {column ? column.name : wholeName}{' '}
          {isOneSided && (
            <strong>
              <EnergyAmount wh={sumOfKnown(shownColumns.map((one) => totalOf(one, series)))} />
            </strong>
          )}{' '}
          {referenceName && (
            <span class="reference-key">
              {referenceName} <EnergyAmount wh={reference} />
            </span>
          )}{' '}
          <span class="muted">{column?.notes.slice(1).join(', ')}</span>
        </p>
        <ul class={isOneSided ? 'legend' : 'legend two-sided'}>
          {series.map((one, index) => (
            <li key={one.key}>
              <button
                type="button"
                class="legend-item"
                aria-pressed={chosen === one.key}
                title={chosen === one.key ? 'Show all series equally' : 'Highlight this series'}
                onPointerEnter={() => setPointed(one.key)}
                onPointerLeave={() => setPointed(undefined)}
                onClick={() => setChosen(chosen === one.key ? undefined : one.key)}
              >
                <span class={`swatch tone-${one.tone}`} aria-hidden="true" />
                <span class="legend-name">{one.name}</span>{' '}
                <EnergyAmount wh={sumOfKnown(shownColumns.map(({ values }) => values[index]))} />
              </button>
            </li>
          ))}
        </ul>
        <MarkKey
          marks={marks}
          hasMissing={columns.some((one) => one.state === 'missing' || isKnownInPart(one))}
          isProvisional={columns.some(({ state }) => state === 'provisional')}
        />
      </div>
    </figure>
  );
}

const markWords = {
  bad: 'not to be trusted',
  doubtful: 'partly a guess',
  noted: 'repaired, right',
  restated: 'restated after it was final',
} as const;

function MarkKey(props: {
  marks: ReadonlyArray<keyof typeof markWords>;
  hasMissing: boolean;
  isProvisional: boolean;
}) {
  const { marks, hasMissing, isProvisional } = props;
  if (marks.length === 0 && !hasMissing && !isProvisional) return null;
  const order = Object.keys(markWords) as Array<keyof typeof markWords>;
  return (
    <ul class="mark-key">
      {isProvisional && (
        <li>
          <span class="swatch provisional-key" aria-hidden="true" /> provisional, can still change
        </li>
      )}
      {hasMissing && (
        <li>
          <span class="swatch missing-key" aria-hidden="true" /> no data, which is not zero
        </li>
      )}
      {order
        .filter((mark) => marks.includes(mark))
        .map((mark) => (
          <li key={mark}>
            <svg width="12" height="12" aria-hidden="true">
              <Mark mark={mark} x={6} y={6} />
            </svg>{' '}
            {markWords[mark]}
          </li>
        ))}
    </ul>
  );
}
