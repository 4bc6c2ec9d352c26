import { useMemo, useRef, useState } from 'preact/hooks';
import { isMouse, useFirstTouch } from './first-touch.ts';
import { HatchPattern } from './hatch-pattern.tsx';
import { CHARACTER_WIDTH, HeatBlock } from './heat-block.tsx';
import type { HeatRow } from './heat-marks.ts';
import { placeTicks } from './place-ticks.ts';
import { useWidth } from './use-width.ts';

const AXIS_HEIGHT = 22;
/** If there are more rows than this, each row is lower. */
const ROWS_OF_USUAL_HEIGHT = 60;
const LOW_ROW_HEIGHT = 15;
/** The names of rows have at most this share of the width. */
const NAMES_SHARE = 0.42;
const NAMES_WIDTH_MAX = 220;

/**
 * Rows by columns. Each state has its own mark, so it is recognized without colour. Rows are drawn once,
 * so hundreds of them are drawn fast. Many rows scroll below the names of the columns. One cell can be
 * reached with Tab, the others with the arrow keys.
 */
export function HeatMap(props: {
  label: string;
  rows: readonly HeatRow[];
  /** Columns without a tick have no name at the top. */
  columns: HeatColumns;
  rowHeight?: number;
}) {
  const { label, rows, columns } = props;
  const rowHeight = rows.length > ROWS_OF_USUAL_HEIGHT ? LOW_ROW_HEIGHT : (props.rowHeight ?? 22);
  const { ref, width } = useWidth<HTMLDivElement>();
  const [active, setActive] = useState<{ row: number; column: number } | undefined>();
  const svg = useRef<SVGSVGElement>(null);
  const frame = useRef<SVGRectElement>(null);
  const touch = useFirstTouch();
  const longest = Math.max(0, ...rows.map(({ name }) => name.length));
  const gutter = Math.min((longest + 1) * CHARACTER_WIDTH, width * NAMES_SHARE, NAMES_WIDTH_MAX);
  const band = Math.max(0.5, (width - gutter) / Math.max(1, columns.length));
  const height = rows.length * rowHeight;
  const place = active ?? { row: 0, column: Math.max(0, columns.length - 2) };
  const row = rows[place.row];
  const cell = place.column < columns.length ? row?.cellAt(place.column) : undefined;
  const words = cell && `${row!.name}, ${columns[place.column]!.name}: ${cell.words}`;
  const drawnRows = useMemo(
    () => blocksOf(rows, { gutter, band, rowHeight }),
    [rows, gutter, band, rowHeight],
  );

  const cellAt = (event: MouseEvent) => {
    const box = svg.current!.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - gutter) / band);
    const rowIndex = Math.floor((event.clientY - box.top) / rowHeight);
    return column >= 0 && column < columns.length && rows[rowIndex] ? { row: rowIndex, column } : undefined;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    const to = { row: place.row + step[0]!, column: place.column + step[1]! };
    if (!rows[to.row] || !columns[to.column]) return;
    event.preventDefault();
    setActive(to);
    requestAnimationFrame(() => frame.current?.scrollIntoView({ block: 'nearest' }));
  };
  const onClick = (event: MouseEvent) => {
    const pointed = cellAt(event);
    if (touch.isShowing()) {
      event.preventDefault();
      return setActive(pointed);
    }
    const href = pointed && rows[pointed.row]!.cellAt(pointed.column).href;
    if (href && !(event.target as Element).closest('a')) location.hash = href;
  };
  return (
    <div>
      <p class="readout-line">
        {active ? (
          <>
            {words} {cell?.href && <a href={cell.href}>Why</a>}
          </>
        ) : (
          'Point at a cell, or touch it, to read it. It leads to the explanation of its day.'
        )}
      </p>
      <ColumnNames columns={columns} gutter={gutter} band={band} width={width} />
      <div class="heat-rows">
        <div ref={ref} class="picture" style={{ height: `${height}px` }}>
          {width > 0 && (
            <svg
              ref={svg}
              class="heat"
              width={width}
              height={height}
              role="group"
              aria-label={label}
              onPointerDown={(event) => {
                const found = cellAt(event);
                touch.onDown(event, found?.row === active?.row && found?.column === active?.column);
              }}
              onPointerMove={(event) => setActive(cellAt(event))}
              onPointerLeave={(event) => isMouse(event) && setActive(undefined)}
              onClick={onClick}
            >
              <defs>
                <HatchPattern id="heat-hatch" />
              </defs>
              {drawnRows}
              {cell && (
                <a
                  href={cell.href}
                  tabIndex={0}
                  aria-label={words}
                  class="heat-active"
                  onKeyDown={onKeyDown}
                  onFocus={() => setActive(place)}
                  onBlur={() => setActive(undefined)}
                >
                  <rect
                    ref={frame}
                    class={active ? 'shown' : ''}
                    x={gutter + place.column * band}
                    y={place.row * rowHeight}
                    width={band}
                    height={rowHeight}
                  />
                </a>
              )}
            </svg>
          )}
        </div>
      </div>
    </div>
  );
}

type HeatColumns = ReadonlyArray<{ tick: string; name: string }>;

/** The names of columns, as far as there is room. */
function ColumnNames(props: { columns: HeatColumns; gutter: number; band: number; width: number }) {
  const { columns, gutter, band, width } = props;
  const shownTicks = useMemo(
    () =>
      placeTicks(
        columns.map(({ tick }) => tick),
        band,
      ),
    [columns, band],
  );
  return (
    <svg class="heat-axis" width={width} height={AXIS_HEIGHT} aria-hidden="true">
      {[...shownTicks].map((index) => (
        <text key={index} class="axis" x={gutter + (index + 0.5) * band} y={13} text-anchor="middle">
          {columns[index]!.tick}
        </text>
      ))}
    </svg>
  );
}

const ROWS_OF_BLOCK = 20;

function blocksOf(
  rows: readonly HeatRow[],
  { gutter, band, rowHeight }: { gutter: number; band: number; rowHeight: number },
) {
  return Array.from({ length: Math.ceil(rows.length / ROWS_OF_BLOCK) }, (_, block) => (
    <HeatBlock
      key={block}
      rows={rows.slice(block * ROWS_OF_BLOCK, (block + 1) * ROWS_OF_BLOCK)}
      gutter={gutter}
      y={block * ROWS_OF_BLOCK * rowHeight}
      band={band}
      rowHeight={rowHeight}
    />
  ));
}
