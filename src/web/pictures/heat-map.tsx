import { useMemo, useRef, useState } from 'preact/hooks';
import { isMouse, useFirstTouch } from './first-touch.ts';
import { HatchPattern } from './hatch-pattern.tsx';
import { runsOf } from './heat-runs.ts';
import { placeTicks } from './place-ticks.ts';
import { useWidth } from './use-width.ts';

export type CellState = 'good' | 'noted' | 'doubtful' | 'bad' | 'missing' | 'future';

export interface HeatRow {
  key: string;
  name: string;
  /** The state of each column. */
  states: readonly CellState[];
  /** A cell in words, what it is and why, and what it leads to. */
  cellAt(column: number): { words: string; href: string | undefined };
}

const AXIS_HEIGHT = 22;
/** If there are more rows than this, each row is lower. */
const ROWS_OF_USUAL_HEIGHT = 60;
const LOW_ROW_HEIGHT = 15;
/** The width of a character in the names of rows, in pixels. */
const CHARACTER_WIDTH = 7;
/** The names of rows have at most this share of the width. */
const NAMES_SHARE = 0.42;
const NAMES_WIDTH_MAX = 220;
/** The least width of a cell with a sign. */
const SIGN_ROOM = 7;

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

/**
 * The rows of a block. In a block all cells of one state are drawn as one path, because a path for each row
 * would need thousands of elements.
 */
const ROWS_OF_BLOCK = 20;

function blocksOf(
  rows: readonly HeatRow[],
  { gutter, band, rowHeight }: { gutter: number; band: number; rowHeight: number },
) {
  return Array.from({ length: Math.ceil(rows.length / ROWS_OF_BLOCK) }, (_, block) => (
    <Block
      key={block}
      rows={rows.slice(block * ROWS_OF_BLOCK, (block + 1) * ROWS_OF_BLOCK)}
      x={gutter}
      y={block * ROWS_OF_BLOCK * rowHeight}
      band={band}
      rowHeight={rowHeight}
      charactersMax={Math.floor(gutter / CHARACTER_WIDTH)}
    />
  ));
}

function Block(props: {
  rows: readonly HeatRow[];
  x: number;
  y: number;
  band: number;
  rowHeight: number;
  charactersMax: number;
}) {
  const { rows, x, y, band, rowHeight, charactersMax } = props;
  const gap = band > 6 ? 1 : 0;
  const [w, h] = [band - gap, rowHeight - 2];
  const hasRoom = band >= SIGN_ROOM;
  const areas = new Map<CellState, string[]>();
  const signs = new Map<CellState, string[]>();
  for (const [place, row] of rows.entries()) {
    const top = y + place * rowHeight + 1;
    for (const { state, from, count } of runsOf(row.states, gap > 0)) {
      // If there is no room for signs, doubtful cells are drawn lower, so that they differ by more than their
      // colour.
      const lower = !hasRoom && state === 'doubtful' ? Math.round(h * 0.4) : 0;
      const across = (count * band - gap).toFixed(1);
      const left = x + from * band;
      addTo(areas, state, `M${left.toFixed(1)} ${top + lower}h${across}v${h - lower}h-${across}z`);
      const sign = hasRoom ? signOf[state]?.(Math.min(w, h) * 0.22) : undefined;
      if (sign) addTo(signs, state, `M${(left + w / 2).toFixed(1)} ${top + h / 2}${sign}`);
    }
  }
  return (
    <g>
      {rows.map((row, place) => {
        const name = row.name.length > charactersMax ? `${row.name.slice(0, charactersMax - 1)}…` : row.name;
        return (
          <text key={row.key} class="row-name" x={0} y={y + (place + 0.5) * rowHeight + 4}>
            {name}
            {name !== row.name && <title>{row.name}</title>}
          </text>
        );
      })}
      {[...areas].map(([state, parts]) => (
        <path key={state} class={`cell cell-${state}`} d={parts.join('')} fill={patternOf[state]} />
      ))}
      {[...signs].map(([state, parts]) => (
        <path key={`sign ${state}`} class={`cell-sign sign-${state}`} d={parts.join('')} />
      ))}
    </g>
  );
}

function addTo(lists: Map<CellState, string[]>, state: CellState, part: string): void {
  const list = lists.get(state);
  if (list) list.push(part);
  else lists.set(state, [part]);
}

/** A mark in the middle of a cell, of a size in pixels. */
const signOf: Partial<Record<CellState, (size: number) => string>> = {
  noted: (s) => `m${-s / 2} 0h${s}`,
  doubtful: (s) => `m${-s} ${s}l${2 * s} ${-2 * s}`,
  bad: (s) => `m${-s} ${-s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}`,
};

/** The pattern that fills a cell instead of its colour. */
const patternOf: Partial<Record<CellState, string>> = { missing: 'url(#heat-hatch)' };

const words: ReadonlyArray<[CellState, string]> = [
  ['good', 'complete'],
  ['noted', 'repaired, right'],
  ['doubtful', 'partly a guess'],
  ['bad', 'not to be trusted'],
  ['missing', 'no data'],
];

/** The meaning of the marks. */
export function HeatKey({ present }: { present: ReadonlySet<CellState> }) {
  return (
    <ul class="mark-key">
      {words
        .filter(([state]) => present.has(state))
        .map(([state, text]) => (
          <li key={state}>
            <svg width="14" height="14" aria-hidden="true" class="heat">
              <path class={`cell cell-${state}`} d="M0 0h14v14h-14z" fill={patternOf[state]} />
              {signOf[state] && <path class={`cell-sign sign-${state}`} d={`M7 7${signOf[state](3)}`} />}
            </svg>{' '}
            {text}
          </li>
        ))}
    </ul>
  );
}
