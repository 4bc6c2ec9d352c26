import { type BarColumn, isKnownInPart, type stack } from './bar-data.ts';

export const PLOT = { left: 44, top: 26, bottom: 38 } as const;
const { top, bottom } = PLOT;
const BAR_WIDTH_MAX = 44;

/** A column of a picture: a link if it leads on. */
export function BarOfColumn(props: {
  column: BarColumn;
  bars: ReturnType<typeof stack>;
  x: number;
  band: number;
  y(value: number): number;
  height: number;
  hasTick: boolean;
  isActive: boolean;
  isTabStop: boolean;
  onFocus(): void;
  bright: string | undefined;
}) {
  const { column, bars, x, band, y, height, hasTick, isActive, isTabStop, onFocus, bright } = props;
  const plotEnd = height - bottom;
  const barWidth = Math.max(1, Math.min(BAR_WIDTH_MAX, band < 6 ? band - 0.5 : band * 0.76));
  const barX = x + (band - barWidth) / 2;
  const middle = x + band / 2;
  const end = Math.max(0, ...bars.map(({ to }) => to));
  const shared = {
    class: `column ${column.state} ${isActive ? 'active' : ''}`,
    tabIndex: isTabStop ? 0 : -1,
    'aria-label': [column.name, ...column.notes].join(': '),
    onFocus,
  };
  const drawn = (
    <>
      <rect class="column-ground" x={x} y={top} width={band} height={plotEnd - top} />
      {column.state === 'missing' && (
        <rect
          class="missing-bar"
          x={barX}
          y={top}
          width={barWidth}
          height={plotEnd - top}
          fill="url(#hatch)"
        />
      )}
      {bars.map(({ series, from, to }) => {
        const [high, low] = [y(Math.max(from, to)), y(Math.min(from, to))];
        const faded = bright !== undefined && bright !== series.key;
        return (
          <rect
            key={series.key}
            class={`bar tone-${series.tone} ${faded ? 'faded' : ''}`}
            x={barX}
            y={high}
            width={barWidth}
            height={Math.max(0.5, low - high)}
          />
        );
      })}
      {isKnownInPart(column) && (
        <rect class="missing-bar" x={barX} y={y(end) - 9} width={barWidth} height={8} fill="url(#hatch)" />
      )}
      {column.mark && <Mark mark={column.mark} x={middle} y={plotEnd + 10} />}
      {hasTick && (
        <text class="axis" x={middle} y={height - 6} text-anchor="middle">
          {column.tick}
        </text>
      )}
    </>
  );
  if (column.href !== undefined)
    return (
      <a href={column.href} {...shared}>
        {drawn}
      </a>
    );
  return (
    <g role="img" {...shared}>
      {drawn}
    </g>
  );
}

/** Marks differ by shape, not only by colour. */
export function Mark({ mark, x, y }: { mark: NonNullable<BarColumn['mark']>; x: number; y: number }) {
  const shape = {
    bad: `M${x - 5} ${y + 4}L${x} ${y - 5}L${x + 5} ${y + 4}Z`,
    doubtful: `M${x - 4.5} ${y + 3.5}L${x} ${y - 4}L${x + 4.5} ${y + 3.5}Z`,
    noted: `M${x - 2.5} ${y}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0Z`,
    restated: `M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z`,
  }[mark];
  return <path class={`mark mark-${mark}`} d={shape} />;
}
