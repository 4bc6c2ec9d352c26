import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Imports } from '../../src/web/facts/answers.ts';
import { PipelineImports } from '../../src/web/pages/pipeline-imports.tsx';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

type Import = Imports['imports'][number];
const landed: Import = {
  id: 1,
  file: 'may.csv',
  table: 'meter',
  state: 'landed',
  bytes: 1_048_576,
  rowsRead: 35_040,
  rowsLanded: 35_038,
  rowsRejected: 0,
  rejected: {},
  startedAt: '2026-05-17T09:00:00.000Z',
  updatedAt: '2026-05-17T09:00:03.000Z',
  rowsExpected: null,
};
const shown = (imports: Import[], next: number | null = null) =>
  renderPart(PipelineImports, {}, { imports: { imports, next } }).lines;
const started = '1 hour ago <May 17, 2026, 11:00 (Europe/Berlin)>';

test('without imports it says what can be imported', () => {
  expect(shown([])).toEqual([
    'Imports',
    'No imports',
    'No file was imported. wattline import reads CSV, Parquet and JSON.',
  ]);
});

test('each import has its state, and what became of its rows', () => {
  const imports: Import[] = [
    { ...landed, id: 5, state: 'running', rowsRead: 30, rowsExpected: 40 },
    { ...landed, id: 4, state: 'running', rowsRead: 1_200 },
    { ...landed, id: 3, state: 'interrupted' },
    { ...landed, id: 2, state: 'dropped', rowsLanded: 0 },
    { ...landed, rowsRejected: 1_002, rejected: { invalid_time: 1_000, not_a_number: 2 } },
  ];
  expect(shown(imports, 1)).toEqual([
    'Imports',
    '5 files. 2 are being imported now. 1 stopped before the end; import the same file again to continue. 1,002 rows could not be used.',
    'Imports, newest first',
    'File | Table | State | Rows | Refused | Refused because of | Started',
    `may.csv | meter | {0.75} <Progress> 75 % {0.75} | 35,038 | 0 | | ${started}`,
    `may.csv | meter | {not known} <Progress> 1,200 rows | 35,038 | 0 | | ${started}`,
    `may.csv | meter | [doubtful] stopped | 35,038 | 0 | | ${started}`,
    `may.csv | meter | [bad] none of it counts | 0 | 0 | | ${started}`,
    `may.csv | meter | [good] imported | 35,038 | 1,002 | invalid time (1,000), not a number (2) | ${started}`,
    '<Imports, newest first>',
    'Older imports are listed by the API.',
  ]);
});

test('more rows than expected are not more than all of them', () => {
  const [row] = shown([{ ...landed, state: 'running', rowsRead: 50, rowsExpected: 40 }]).slice(4);
  expect(row).toMatch('| {1} <Progress> 100 % {1} |');
});

test.each<[Partial<Import>, string]>([
  [{}, '1 file. No row was refused.'],
  [{ rowsRejected: 1 }, '1 file. 1 row could not be used.'],
  [{ state: 'running' }, '1 file. 1 is being imported now. No row was refused.'],
  [{ state: 'dropped' }, '1 file. No row was refused.'],
])('the sentence of one import, %o', (changed, words) => {
  expect(shown([{ ...landed, ...changed }])[1]).toBe(words);
});

test('two files that stopped are imported again each', () => {
  const stopped = { ...landed, state: 'interrupted' as const };
  expect(shown([stopped, { ...stopped, id: 2 }])[1]).toBe(
    '2 files. 2 stopped before the end; import the same files again to continue. No row was refused.',
  );
});
