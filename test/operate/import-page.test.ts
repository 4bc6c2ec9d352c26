import { expect, test } from 'vitest';
import type { ListedImport } from '../../src/import/list-imports.ts';
import { importPage } from '../../src/operate/import-route.ts';

const AT_MS = Date.UTC(2026, 10, 20);

const listed = (importId: number, path: string, state: ListedImport['state']): ListedImport => ({
  ...{ importId, path, state, table: 'solar', bytes: 100, rowsRead: 5, rowsLanded: 3, rowsRejected: 2 },
  ...{ rejected: { time: 2 }, startedAtMs: AT_MS, updatedAtMs: AT_MS },
});
const counts = { phase: 'landing' as const, fileBytes: 100, bytesChecked: 100 };
const progress = { ...counts, rowsRead: 5, rowsLanded: 3, rowsRejected: 2, rowsExpected: 9 };

test('the next page begins before the last import of this one, if there are more', () => {
  const all = [
    listed(9, '/in/a.csv', 'landed'),
    listed(7, '/in/b.csv', 'landed'),
    listed(4, '/in/c.csv', 'landed'),
  ];
  const idsOf = (limit: number) => {
    const { imports, next } = importPage(all, limit, undefined);
    return [imports.map(({ id }) => id), next];
  };
  expect([1, 2, 3, 4].map(idsOf)).toEqual([
    [[9], 9],
    [[9, 7], 7],
    [[9, 7, 4], null],
    [[9, 7, 4], null],
  ]);
  expect(importPage([], 1, undefined)).toEqual({ imports: [], next: null });
});

test('an unfinished import is running if the worker imports its file, else interrupted', () => {
  const all = [
    listed(3, '/in/a.csv', 'landing'),
    listed(2, '/in/b.csv', 'landing'),
    listed(1, '/in/a.csv', 'dropped'),
  ];
  const running = { kind: 'running' as const, path: '/in/a.csv', progress };
  const statesOf = (now: Parameters<typeof importPage>[2]) =>
    importPage(all, 9, now).imports.map(({ file, state, rowsExpected }) => [file, state, rowsExpected]);
  expect(statesOf(running)).toEqual([
    ['a.csv', 'running', 9],
    ['b.csv', 'interrupted', null],
    ['a.csv', 'dropped', null],
  ]);
  expect(statesOf(undefined).map(([, state]) => state)).toEqual(['interrupted', 'interrupted', 'dropped']);
});
