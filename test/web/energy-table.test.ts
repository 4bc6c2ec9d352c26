import { expect, test } from 'vitest';
import { EnergyTable } from '../../src/web/pages/energy-table.tsx';
import type { BarColumn, BarSeries } from '../../src/web/pictures/bar-data.ts';
import { renderPart } from './support/render-part.ts';

const solar: BarSeries = { key: 'production', name: 'Production', tone: 'production', side: 1 };
const grid: BarSeries = { key: 'grid_import', name: 'Grid import', tone: 'grid_import', side: 1 };
const used: BarSeries = { key: 'consumption', name: 'Consumption', tone: 'consumption', side: -1 };
const column = (key: string, values: Array<number | null>, changed: Partial<BarColumn> = {}): BarColumn => ({
  key,
  tick: key,
  name: `May ${key}`,
  values,
  state: 'measured',
  notes: ['the energy', 'jump', 'glitch'],
  ...changed,
});
const shown = (series: BarSeries[], columns: BarColumn[]) =>
  renderPart(EnergyTable, { series, columns, fileName: 'home.csv', zone: 'Europe/Berlin' }).lines;

test('series of one side are added up, in the unit of the largest value', () => {
  const columns = [
    column('1', [1_500, 250], { href: '#/home/day?day=2026-05-01', notes: ['the energy'] }),
    column('2', [null, 750]),
  ];
  expect(shown([solar, grid], columns)).toEqual([
    'Energy, days of Europe/Berlin',
    'Period | Production | Grid import | Sum | Quality',
    'May 1 {#/home/day?day=2026-05-01} | 1.50 kWh {1500} | 0.25 kWh {250} | 1.75 kWh {1750} |',
    'May 2 | – <not known> | 0.75 kWh {750} | 0.75 kWh {750} | jump, glitch',
    'Sum | 1.50 kWh {1500} | 1.00 kWh {1000} | 2.50 kWh {2500} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('columns that have not begun have no row, and a missing one says that it has no data', () => {
  const columns = [
    column('1', [null], { state: 'before' }),
    column('2', [null], { state: 'missing', notes: ['no data', 'jump'] }),
    column('3', [-300]),
    column('4', [null], { state: 'future' }),
  ];
  expect(shown([solar], columns)).toEqual([
    'Energy, days of Europe/Berlin',
    'Period | Production | Quality',
    'May 2 | – <not known> | no data',
    'May 3 | -300 Wh {-300} | jump, glitch',
    'Sum | -300 Wh {-300} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('energy in and energy out are not added up', () => {
  expect(shown([solar, used], [column('1', [600_000, 600_000]), column('2', [600_000, 100])])).toEqual([
    'Energy, days of Europe/Berlin',
    'Period | Production | Consumption | Quality',
    'May 1 | 600.0 kWh {600000} | 600.0 kWh {600000} | jump, glitch',
    'May 2 | 600.0 kWh {600000} | 0.10 kWh {100} | jump, glitch',
    'Sum | 1.20 MWh {1200000} | 600.1 kWh {600100} |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});

test('what goes out is added up, too, and a small sum keeps the unit of its column', () => {
  const lines = shown(
    [used, { ...used, key: 'grid_export' }],
    [column('1', [1_500, 20]), column('2', [-1_000, 30])],
  );
  expect(lines.slice(1, 5)).toEqual([
    'Period | Consumption | Consumption | Sum | Quality',
    'May 1 | 1.50 kWh {1500} | 0.02 kWh {20} | 1.52 kWh {1520} | jump, glitch',
    'May 2 | -1.00 kWh {-1000} | 0.03 kWh {30} | -0.97 kWh {-970} | jump, glitch',
    'Sum | 0.50 kWh {500} | 0.05 kWh {50} | 0.55 kWh {550} |',
  ]);
});

test('without columns nothing is known', () => {
  expect(shown([solar], [])).toEqual([
    'Energy, days of Europe/Berlin',
    'Period | Production | Quality',
    'Sum | – <not known> |',
    '<Energy, days of Europe/Berlin>',
    '[Download CSV]',
  ]);
});
