import { expect, test } from 'vitest';
import { changePositionOf, pageOfChanges } from '../../src/report/changes-route.ts';
import { changeBound, type DayChange, filesOfChanges, totalChanges } from '../../src/report/day-changes.ts';
import type { Generation } from '../../src/report/lake/lake-reader.ts';

test.each<[text: string, end: 'since' | 'until', instant: string | undefined]>([
  ['2026-10-25', 'since', '2026-10-24T22:00:00Z'],
  // The day has 25 hours in Paris.
  ['2026-10-25', 'until', '2026-10-25T23:00:00Z'],
  ['today', 'since', '2026-11-20T23:00:00Z'],
  ['today', 'until', '2026-11-21T23:00:00Z'],
  ['yesterday', 'since', '2026-11-19T23:00:00Z'],
  ['yesterday', 'until', '2026-11-20T23:00:00Z'],
  ['2026-11-20T13:05:00+01:00', 'since', '2026-11-20T12:05:00Z'],
  ['2026-11-20T13:05:00+01:00', 'until', '2026-11-20T12:05:00Z'],
  ['2026-02-30', 'since', undefined],
  ['2026-11-20T13:05:00', 'since', undefined],
  ['tomorrow', 'until', undefined],
])('the bound %s as %s is %s', (text, end, instant) => {
  // It is after midnight in Paris.
  const at = { zone: 'Europe/Paris', nowMs: Date.parse('2026-11-20T23:30:00Z') };
  expect(changeBound(text, { ...at, end })).toBe(instant && Date.parse(instant));
});

test('totals add each change up, and a day without energy counts as 0', () => {
  const change = (beforeWh: number | null | undefined, afterWh: number | null, differenceWh: number) =>
    ({
      before: beforeWh === undefined ? null : { energyWh: beforeWh },
      after: { energyWh: afterWh },
      differenceWh,
    }) as DayChange;
  expect(totalChanges([change(100, 130, 30), change(undefined, 7, 7), change(50, null, -50)])).toEqual({
    days: 3,
    beforeWh: 150,
    afterWh: 137,
    differenceWh: -13,
  });
  expect(totalChanges([])).toEqual({ days: 0, beforeWh: 0, afterWh: 0, differenceWh: 0 });
});

test('changes are looked for in files that were written at that time or later', () => {
  const files = [99, 100, 101].map((createdAtMs) => ({ createdAtMs }));
  const generation = {
    files: (dataset: string) => (dataset === 'daily_energy_version' ? files : []),
  } as Partial<Generation> as Generation;
  expect(filesOfChanges(generation, 100)).toEqual(files.slice(1));
  expect(filesOfChanges(undefined, 100)).toEqual([]);
});

test('pages have all changes once, in the order of day, device and the bytes of the source', () => {
  const change = (day: string, device: string, source: string) => ({ day, device, source }) as DayChange;
  const all = [
    change('2026-11-19', 'd2', 'a'),
    change('2026-11-20', 'd1', 'b'),
    change('2026-11-20', 'd1', '\uff5e'),
    // Its bytes come later, and its first code unit comes earlier.
    change('2026-11-20', 'd1', '\u{1f50b}'),
    change('2026-11-20', 'd2', 'a'),
    change('2026-11-21', 'd1', 'a'),
  ];
  for (const limit of [1, 2, 3, 6]) {
    const read: DayChange[] = [];
    let next: string | null = null;
    do {
      const after = next === null ? undefined : changePositionOf(next);
      const page: ReturnType<typeof pageOfChanges> = pageOfChanges(all, { limit, after });
      expect(page.changes).toHaveLength(limit);
      read.push(...page.changes);
      next = page.next;
    } while (next !== null);
    expect(read).toEqual(all);
  }
  expect(pageOfChanges([], { limit: 1, after: undefined })).toEqual({ changes: [], next: null });
  expect(pageOfChanges(all, { limit: undefined, after: undefined })).toEqual({ changes: all, next: null });
});

test('the position of a page is only what an answer gave', () => {
  const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  expect(changePositionOf(text(['2026-11-20', 'd1', 'a']))).toEqual(['2026-11-20', 'd1', 'a']);
  for (const wrong of ['', 'x', text(['2026-11-20', 'd1']), text(['2026-11-20', 'd1', 5]), text('a')])
    expect(changePositionOf(wrong)).toBeUndefined();
});
