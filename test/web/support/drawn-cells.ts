import type { Page } from 'playwright-core';
import type { State } from './expected-flags.ts';

/** The state of each cell of a heat map, read from what is drawn. */
export async function drawnCells(page: Page, columns: number): Promise<Array<Array<State | undefined>>> {
  return page.locator('main .heat-rows').evaluate((element, length) => {
    const frame = element.querySelector('.heat-active rect')!;
    const of = (name: string) => Number(frame.getAttribute(name));
    const [band, rowHeight] = [of('width'), of('height')];
    // It is the cell before the last one.
    const gutter = of('x') - (length - 2) * band;
    const rows = Array.from({ length: element.querySelectorAll('.row-name').length }, () =>
      Array.from({ length }, (): string | undefined => undefined),
    );
    for (const path of element.querySelectorAll('path.cell')) {
      const state = [...path.classList].find((name) => name.startsWith('cell-'))!.slice(5);
      for (const [, left, top, across] of path.getAttribute('d')!.matchAll(/M([\d.]+) ([\d.]+)h([\d.]+)/g)) {
        const first = Math.round((Number(left) - gutter) / band);
        const count = Math.max(1, Math.round(Number(across) / band));
        rows[Math.floor(Number(top) / rowHeight)]!.fill(state, first, first + count);
      }
    }
    return rows as Array<Array<never>>;
  }, columns);
}
