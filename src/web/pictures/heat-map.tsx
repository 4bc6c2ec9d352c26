import { useRef, useState } from 'preact/hooks';
import { useWidth } from './use-width.ts';

export type CellState = 'good' | 'noted' | 'doubtful' | 'bad' | 'missing' | 'future';

export interface Cell {
  state: CellState;
  /** In words: what it is, and why. */
  words: string;
  href: string | undefined;
}

export interface HeatRow {
  key: string;
  name: string;
  href?: string | undefined;
  cells: readonly Cell[];
}

const top = 22;

/**
 * Rows by columns. Each state has its own mark, so it can be told apart without colour. Cells of one state are one path, so hundreds of rows are drawn
 * fast. One cell can be reached with Tab, the others with the arrow keys.
 */
export function HeatMap(props: {
  label: string;
  rows: readonly HeatRow[];
  columns: ReadonlyArray<{ key: string; tick: string; name: string }>;
  rowHeight?: number;
}) {
  const { label, rows, columns, rowHeight = 22 } = props;
  const { ref, width } = useWidth<HTMLDivElement>();
  const [active, setActive] = useState<{ row: number; column: number } | undefined>();
  const svg = useRef<SVGSVGElement>(null);
  const gutter = width < 560 ? 128 : 168;
  const band = Math.max(1, (width - gutter) / Math.max(1, columns.length));
  const height = top + rows.length * rowHeight;
  const at = active ?? { row: 0, column: Math.max(0, columns.length - 2) };
  const cell = rows[at.row]?.cells[at.column];
  const words = cell && `${rows[at.row]!.name}, ${columns[at.column]!.name}: ${cell.words}`;
  const every = Math.max(1, Math.ceil(30 / band));
  const charactersMax = Math.floor(gutter / 7.4);

  const cellAt = (event: PointerEvent) => {
    const box = svg.current!.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - gutter) / band);
    const row = Math.floor((event.clientY - box.top - top) / rowHeight);
    return rows[row]?.cells[column] ? { row, column } : undefined;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    const to = { row: at.row + step[0]!, column: at.column + step[1]! };
    if (!rows[to.row]?.cells[to.column]) return;
    event.preventDefault();
    setActive(to);
  };
  const onClick = (event: MouseEvent) => {
    const found = cellAt(event as PointerEvent);
    const href = found && rows[found.row]!.cells[found.column]!.href;
    if (href && !(event.target as Element).closest('a')) location.hash = href;
  };
  return (
    <div>
      <p class="readout-line">
        {active ? words : 'Point at a cell to read it; it leads to the explanation of its day.'}
      </p>
      <div ref={ref} class="picture" style={{ height: `${height}px` }}>
        {width > 0 && (
          <svg
            ref={svg}
            class="heat"
            width={width}
            height={height}
            role="group"
            aria-label={label}
            onPointerMove={(event) => setActive(cellAt(event))}
            onPointerLeave={() => setActive(undefined)}
            onClick={onClick}
          >
            <defs>
              <pattern
                id="heat-hatch"
                width="6"
                height="6"
                patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)"
              >
                <rect width="6" height="6" class="hatch-ground" />
                <rect width="2" height="6" class="hatch-line" />
              </pattern>
            </defs>
            <g aria-hidden="true">
              {columns.map(
                ({ key, tick }, index) =>
                  index % every === 0 && (
                    <text
                      key={key}
                      class="axis"
                      x={gutter + (index + 0.5) * band}
                      y={13}
                      text-anchor="middle"
                    >
                      {tick}
                    </text>
                  ),
              )}
            </g>
            {rows.map((row, index) => (
              <Row
                key={row.key}
                row={row}
                x={gutter}
                y={top + index * rowHeight}
                band={band}
                rowHeight={rowHeight}
                charactersMax={charactersMax}
              />
            ))}
            {cell && (
              <a
                href={cell.href}
                tabIndex={0}
                aria-label={words}
                class="heat-active"
                onKeyDown={onKeyDown}
                onFocus={() => setActive(at)}
                onBlur={() => setActive(undefined)}
              >
                <rect
                  class={active ? 'shown' : ''}
                  x={gutter + at.column * band}
                  y={top + at.row * rowHeight}
                  width={band}
                  height={rowHeight}
                />
              </a>
            )}
          </svg>
        )}
      </div>
    </div>
  );
}

const states: readonly CellState[] = ['good', 'noted', 'doubtful', 'bad', 'missing', 'future'];

function Row(props: {
  row: HeatRow;
  x: number;
  y: number;
  band: number;
  rowHeight: number;
  charactersMax: number;
}) {
  const { row, x, y, band, rowHeight, charactersMax } = props;
  const gap = band > 6 ? 1 : 0;
  const name = row.name.length > charactersMax ? `${row.name.slice(0, charactersMax - 1)}…` : row.name;
  const label = (
    <text class="row-name" x={0} y={y + rowHeight / 2 + 4}>
      {name}
      {name !== row.name && <title>{row.name}</title>}
    </text>
  );
  return (
    <g>
      {row.href === undefined ? (
        label
      ) : (
        <a href={row.href} aria-label={row.name}>
          {label}
        </a>
      )}
      {states.map((state) => {
        const places = row.cells.flatMap((cell, index) => (cell.state === state ? [x + index * band] : []));
        if (places.length === 0) return null;
        const [w, h] = [band - gap, rowHeight - 2];
        const area = places
          .map((at) => `M${at.toFixed(1)} ${y + 1}h${w.toFixed(1)}v${h}h-${w.toFixed(1)}z`)
          .join('');
        const sign = band >= 7 ? signOf[state]?.(Math.min(w, h) * 0.22) : undefined;
        return (
          <g key={state}>
            <path
              class={`cell cell-${state}`}
              d={area}
              fill={state === 'missing' ? 'url(#heat-hatch)' : undefined}
            />
            {sign && (
              <path
                class={`cell-sign sign-${state}`}
                d={places.map((at) => `M${(at + w / 2).toFixed(1)} ${y + 1 + h / 2}${sign}`).join('')}
              />
            )}
          </g>
        );
      })}
    </g>
  );
}

/** A mark in the middle of a cell, of a size in pixels. */
const signOf: Partial<Record<CellState, (size: number) => string>> = {
  noted: (s) => `m${-s / 2} 0h${s}`,
  doubtful: (s) => `m${-s} ${s}l${2 * s} ${-2 * s}`,
  bad: (s) => `m${-s} ${-s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}`,
};

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
              <path
                class={`cell cell-${state}`}
                d="M0 0h14v14h-14z"
                fill={state === 'missing' ? 'url(#heat-hatch)' : undefined}
              />
              {signOf[state] && <path class={`cell-sign sign-${state}`} d={`M7 7${signOf[state](3)}`} />}
            </svg>{' '}
            {text}
          </li>
        ))}
    </ul>
  );
}
