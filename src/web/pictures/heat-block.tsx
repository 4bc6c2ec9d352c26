import { type CellState, type HeatRow, patternOf, signOf } from './heat-marks.ts';
import { runsOf } from './heat-runs.ts';

/** The width of a character in the names of rows, in pixels. */
export const CHARACTER_WIDTH = 7;
/** The least width of a cell with a sign. */
const SIGN_ROOM = 7;

/**
 * The rows of a block. All cells of one state are drawn as one path, because a path for each row would need
 * thousands of elements.
 */
export function HeatBlock(props: {
  rows: readonly HeatRow[];
  /** The width of the names, which stand left of the cells. */
  gutter: number;
  /** The top of the first row. */
  y: number;
  /** The width of a column. */
  band: number;
  rowHeight: number;
}) {
  const { rows, gutter, y, band, rowHeight } = props;
  const charactersMax = Math.floor(gutter / CHARACTER_WIDTH);
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
      const left = gutter + from * band;
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
