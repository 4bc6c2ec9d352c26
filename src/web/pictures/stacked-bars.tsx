import { useRef } from 'preact/hooks';
import { tickText, type Unit } from '../words/number-words.ts';
import { BarOfColumn, PLOT } from './bar-column.tsx';
import { type BarColumn, type BarSeries, stack } from './bar-data.ts';
import { isMouse, useFirstTouch } from './first-touch.ts';
import { HatchPattern } from './hatch-pattern.tsx';
import { niceScale, type Scale } from './nice-scale.ts';
import { placeTicks } from './place-ticks.ts';
import { stepsOf } from './step-line.ts';
import { useWidth } from './use-width.ts';

const { left, top, bottom } = PLOT;

interface BarsProps {
  label: string;
  columns: readonly BarColumn[];
  series: readonly BarSeries[];
  unit: Unit;
  active: number | undefined;
  onActive(index: number | undefined): void;
  /** The series that stands out. */
  bright?: string | undefined;
}

/**
 * Stacked bars. A column that is not known is hatched over the whole height, so it cannot be taken for zero.
 * One column can be reached with Tab, the others with the arrow keys.
 */
export function StackedBars({ height = 260, ...props }: BarsProps & { height?: number }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  return (
    <div ref={ref} class="picture" style={{ height: `${height}px` }}>
      {width > 0 && <DrawnBars {...props} width={width} height={height} />}
    </div>
  );
}

/** The picture of `StackedBars` in a known width. */
export function DrawnBars(props: BarsProps & { width: number; height: number }) {
  const { label, columns, series, unit, active, onActive, bright, width, height } = props;
  const svg = useRef<SVGSVGElement>(null);
  const touch = useFirstTouch();
  const stacks = columns.map((column) => stack(column, series));
  const ends = stacks.flat().map(({ to }) => to);
  const references = columns.map(({ reference }) => reference ?? 0);
  const scale = niceScale(Math.min(0, ...ends), Math.max(0, ...ends, ...references), height < 200 ? 3 : 5);
  const band = Math.max(0, width - left) / Math.max(1, columns.length);
  const y = (value: number) =>
    top + ((scale.high - value) / (scale.high - scale.low)) * (height - top - bottom);
  const indexAt = (clientX: number) => {
    const box = svg.current!.getBoundingClientRect();
    const index = Math.floor((clientX - box.left - left) / band);
    return index >= 0 && index < columns.length ? index : undefined;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const from = active ?? columns.length - 1;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: columns.length - 1 }[event.key];
    if (to === undefined || !columns[to]) return;
    event.preventDefault();
    svg.current!.querySelectorAll<SVGElement>('.column')[to]?.focus();
  };
  const tabStop = active ?? columns.length - 1;
  const shownTicks = placeTicks(
    columns.map(({ tick }) => tick),
    band,
  );

  return (
    <svg
      ref={svg}
      width={width}
      height={height}
      role="group"
      aria-label={label}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => touch.onDown(event, indexAt(event.clientX) === active)}
      onPointerMove={(event) => onActive(indexAt(event.clientX))}
      onPointerLeave={(event) => isMouse(event) && onActive(undefined)}
      onClickCapture={(event) => {
        if (!touch.isShowing()) return;
        event.preventDefault();
        onActive(indexAt(event.clientX));
      }}
      onBlurCapture={() => onActive(undefined)}
    >
      <defs>
        <HatchPattern id="hatch" />
      </defs>
      <Grid scale={scale} unit={unit} y={y} width={width} />
      {columns.map((column, index) => (
        <BarOfColumn
          key={column.key}
          column={column}
          bars={stacks[index]!}
          x={left + index * band}
          band={band}
          y={y}
          height={height}
          hasTick={shownTicks.has(index)}
          isActive={index === active}
          isTabStop={index === tabStop}
          onFocus={() => onActive(index)}
          bright={bright}
        />
      ))}
      <path class="reference" d={stepsOf(columns, (index) => left + index * band, y)} />
    </svg>
  );
}

function Grid({
  scale,
  unit,
  y,
  width,
}: {
  scale: Scale;
  unit: Unit;
  y(value: number): number;
  width: number;
}) {
  return (
    <g aria-hidden="true">
      <text class="axis" x={left - 8} y={10} text-anchor="end">
        {unit.name}
      </text>
      {(scale.isEmpty ? [0] : scale.ticks).map((tick) => (
        <g key={tick}>
          <line
            class={tick === 0 ? 'axis-line' : 'grid-line'}
            x1={left}
            x2={width}
            y1={y(tick)}
            y2={y(tick)}
          />
          <text class="axis" x={left - 8} y={y(tick) + 4} text-anchor="end">
            {tickText(Math.abs(tick), scale.step, unit)}
          </text>
        </g>
      ))}
    </g>
  );
}
