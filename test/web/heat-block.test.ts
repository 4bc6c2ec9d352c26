import { expect, test } from 'vitest';
import { HeatBlock } from '../../src/web/pictures/heat-block.tsx';
import { HeatKey } from '../../src/web/pictures/heat-key.tsx';
import type { CellState, HeatRow } from '../../src/web/pictures/heat-marks.ts';
import { renderPart } from './support/render-part.ts';

const row = (states: CellState[], name = 'Garage'): HeatRow => ({
  key: name,
  name,
  states,
  cellAt: () => ({ words: '', href: undefined }),
});
/** Names have 70 pixels. Rows are 22 high, with a pixel of room above and below. */
const part = (rows: HeatRow[], band: number, y = 0) =>
  renderPart(HeatBlock, { rows, gutter: 70, y, band, rowHeight: 22 });
const paths = (rows: HeatRow[], band: number, y?: number) =>
  part(rows, band, y)
    .elements('path')
    .map(({ class: name, d, fill }) => `${name}: ${d}${fill ? ` ${fill}` : ''}`);

test('each cell of a wide column has its area, with a pixel of room, and its sign in the middle', () => {
  const states: CellState[] = ['good', 'noted', 'doubtful', 'bad', 'missing', 'future', 'good'];
  // A sign has 0.22 of the height or the width, whichever is less: 0.22 * 19 = 4.18.
  expect(paths([row(states)], 20)).toEqual([
    'cell cell-good: M70.0 1h19.0v20h-19.0zM190.0 1h19.0v20h-19.0z',
    'cell cell-noted: M90.0 1h19.0v20h-19.0z',
    'cell cell-doubtful: M110.0 1h19.0v20h-19.0z',
    'cell cell-bad: M130.0 1h19.0v20h-19.0z',
    'cell cell-missing: M150.0 1h19.0v20h-19.0z url(#heat-hatch)',
    'cell cell-future: M170.0 1h19.0v20h-19.0z',
    'cell-sign sign-noted: M99.5 11m-2.09 0h4.18',
    'cell-sign sign-doubtful: M119.5 11m-4.18 4.18l8.36 -8.36',
    'cell-sign sign-bad: M139.5 11m-4.18 -4.18l8.36 8.36m0 -8.36l-8.36 8.36',
  ]);
});

test('cells without room for signs are joined, and doubtful ones are lower', () => {
  expect(paths([row(['good', 'good', 'doubtful', 'bad'])], 6)).toEqual([
    'cell cell-good: M70.0 1h12.0v20h-12.0z',
    'cell cell-doubtful: M82.0 9h6.0v12h-6.0z',
    'cell cell-bad: M88.0 1h6.0v20h-6.0z',
  ]);
  // There is room between the cells, but not for a sign.
  expect(paths([row(['good', 'good', 'doubtful'])], 6.5)).toEqual([
    'cell cell-good: M70.0 1h5.5v20h-5.5zM76.5 1h5.5v20h-5.5z',
    'cell cell-doubtful: M83.0 9h5.5v12h-5.5z',
  ]);
  expect(paths([row(['bad'])], 7)).toHaveLength(2);
});

test('rows follow each other from the top of their block, and a long name is cut off', () => {
  const rows = [row(['good'], 'ten-letter'), row(['good'], 'eleven-long')];
  expect(paths(rows, 20, 440)).toEqual(['cell cell-good: M70.0 441h19.0v20h-19.0zM70.0 463h19.0v20h-19.0z']);
  const drawn = part(rows, 20, 440);
  expect(drawn.elements('text').map(({ y }) => y)).toEqual(['455', '477']);
  expect(drawn.lines.join('')).toBe('ten-lettereleven-lo…eleven-long');
});

test('the key has the marks that are there, in the order of their weight', () => {
  const { lines, elements } = renderPart(HeatKey, { present: new Set(['bad', 'good', 'future'] as const) });
  expect(lines).toEqual(['complete', 'not to be trusted']);
  expect(elements('path').map(({ class: name }) => name)).toEqual([
    'cell cell-good',
    'cell cell-bad',
    'cell-sign sign-bad',
  ]);
});
