import { expect, test } from 'vitest';
import { createProgressView, describeFile } from '../../src/cli/import/import-view.ts';
import type { ImportProgress } from '../../src/import/import-request.ts';
import { linesOf, terminalOf } from './terminal-of.ts';

const counts = { rowsRead: 12_004, rowsLanded: 12_000, rowsRejected: 0, rejected: {} };
const landed = { kind: 'landed' as const, importId: 1, counts, examples: [], lastBatchId: 1, resumed: false };

test('a file is printed with its rows; also, that an import continued or had nothing to do', () => {
  const of = (outcome: Parameters<typeof describeFile>[0]['outcome']) =>
    describeFile({ shownPath: '/a/b.csv', outcome });
  expect(of(landed)).toBe('b.csv: 12,000 rows, 0 rejected\n');
  expect(of({ ...landed, counts: { ...counts, rowsLanded: 1 } })).toBe('b.csv: 1 row, 0 rejected\n');
  expect(of({ ...landed, resumed: true })).toBe(
    'b.csv: 12,000 rows, 0 rejected, gone on with where it had stopped\n',
  );
  expect(
    of({ kind: 'landed-before', importId: 1, counts, lastBatchId: 1, landedAtMs: Date.UTC(2026, 4, 17) }),
  ).toBe('b.csv: nothing to do, already imported at 2026-05-17T00:00:00.000Z (12,000 rows, 0 rejected)\n');
  expect(of({ kind: 'nothing-usable', counts: { ...counts, rowsLanded: 0 }, examples: [] })).toBe(
    'b.csv: nothing imported, the file has no rows\n',
  );
  const single = { ...counts, rowsLanded: 0, rowsRejected: 1, rejected: { bad_time: 1 } };
  expect(of({ kind: 'nothing-usable', counts: single, examples: [] })).toBe(
    'b.csv: nothing imported, its only row was rejected\n  bad_time: 1\n',
  );
});

test('rejected rows are counted by reason with their examples, what to do, and how many are kept', () => {
  const examples = [
    { reason: 'no_such_local_time', detail: 'row 7', content: 'x'.repeat(200) },
    { reason: 'malformed_row', detail: 'line 9', content: 'y' },
  ];
  const rejected = { no_such_local_time: 10_000, malformed_row: 1 };
  const outcome = { ...landed, counts: { ...counts, rowsRejected: 10_001, rejected }, examples };
  expect(linesOf(describeFile({ shownPath: 'b.csv', outcome }))).toEqual([
    'b.csv: 12,000 rows, 10,001 rejected',
    '  no_such_local_time: 10,000',
    `    row 7  ${'x'.repeat(100)}`,
    expect.stringMatching(
      /^ {4}clocks of the zone skip these times in spring\. .* zone: Etc\/UTC in the mapping\./,
    ),
    '  malformed_row: 1',
    '    line 9  y',
    '  rows are counted without the header and without malformed ones',
    '  the first 10000 are in the quarantine',
  ]);
  // Malformed rows have lines, so no counting of rows needs a word.
  const malformed = { ...counts, rowsRejected: 1, rejected: { malformed_row: 1 } };
  const lines = { ...outcome, counts: malformed, examples: examples.slice(1) };
  expect(describeFile({ shownPath: 'b.csv', outcome: lines })).toBe(
    'b.csv: 12,000 rows, 1 rejected\n  malformed_row: 1\n    line 9  y\n',
  );
  const few = { ...outcome, counts: { ...counts, rowsRejected: 10_000, rejected: { no_time: 10_000 } } };
  expect(describeFile({ shownPath: 'b.csv', outcome: few })).toBe(
    'b.csv: 12,000 rows, 10,000 rejected\n  no_time: 10,000\n',
  );
});

test('the progress has the part of the checksum, then the rows, their rate and the time that is left', () => {
  const { terminal, written } = terminalOf({ isInteractive: true });
  let nowMs = 0;
  const view = createProgressView(terminal, () => nowMs);
  const show = (progress: Partial<ImportProgress>) =>
    view.show({
      kind: 'file',
      path: '/a/b.csv',
      progress: {
        phase: 'landing',
        fileBytes: 200,
        bytesChecked: 50,
        rowsRead: 0,
        rowsLanded: 0,
        rowsRejected: 0,
        rowsExpected: undefined,
        ...progress,
      },
    });
  show({ phase: 'checking' });
  show({ phase: 'checking', fileBytes: 0, bytesChecked: 0 });
  nowMs = 60_000;
  // The rate is one of this phase, not of the checksum before it.
  show({});
  nowMs = 70_000;
  show({ rowsRead: 5_000, rowsRejected: 3, rowsExpected: 20_000 });
  show({ rowsRead: 30_000, rowsExpected: 20_000 });
  expect(written()).toEqual([
    'b.csv  [######..................]  25 %  computing the checksum of the file',
    'b.csv  [########################]  100 %  computing the checksum of the file',
    'b.csv  0 rows  0/s',
    'b.csv  [######..................]  25 %  5,000 rows  500/s  30 s left  3 rejected',
    'b.csv  [########################]  100 %  30,000 rows  3,000/s  0 s left',
  ]);
});
