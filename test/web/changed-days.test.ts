import { expect, test } from 'vitest';
import type { DayChange, DayChanges } from '../../src/web/facts/answers.ts';
import { ChangedDays } from '../../src/web/pages/changed-days.tsx';
import { renderPart } from './support/render-part.ts';

const GARAGE = '0b0e7c1e-0000-4000-8000-000000000001';
const statuses = { [GARAGE]: { name: 'Garage' } };
const version = { version: 1, energyWh: 2_000, method: 'power_curve', flags: [], coverage: 1 } as const;
const restated: DayChange = {
  day: '2026-05-02',
  device: GARAGE,
  source: 'total',
  kind: 'restated',
  before: { ...version, flags: [] },
  after: { ...version, flags: [], version: 2, energyWh: 1_500, status: 'restated' },
  differenceWh: -500,
  versions: 1,
  changedAt: '2026-05-15T22:30:00.000Z',
  causes: ['stream', 'correction'],
  batch: 'b1',
};
const added: DayChange = {
  ...restated,
  day: '2026-05-03',
  kind: 'added',
  before: null,
  after: { ...restated.after, energyWh: 700 },
  differenceWh: 700,
  changedAt: '2026-05-16T08:00:00.000Z',
  causes: ['import'],
};
const withdrawn: DayChange = {
  ...restated,
  day: '2026-05-04',
  source: 'default',
  kind: 'withdrawn',
  after: { ...restated.after, energyWh: null },
  differenceWh: -2_000,
  changedAt: '2026-05-14T08:00:00.000Z',
  causes: ['zone'],
};

function answerOf(changes: DayChange[]): DayChanges {
  const sum = (whOf: (change: DayChange) => number | null | undefined) =>
    changes.reduce((total, change) => total + (whOf(change) ?? 0), 0);
  return {
    since: '2026-05-10T22:00:00.000Z',
    until: null,
    totals: {
      days: changes.length,
      beforeWh: sum(({ before }) => before?.energyWh),
      afterWh: sum(({ after }) => after.energyWh),
      differenceWh: sum(({ differenceWh }) => differenceWh),
    },
    changes,
    next: null,
  };
}
const part = (changes: DayChange[], query: Record<string, string> = {}, since = '2026-05-10') =>
  renderPart(
    ChangedDays,
    { query },
    { [`daily-energy/changes?since=${since}`]: answerOf(changes), 'device-status': statuses },
  );
const shown = (changes: DayChange[]) => part(changes).lines.slice(2);
const chosenOf = ({ elements }: ReturnType<typeof renderPart>) =>
  elements('a').find((link) => link['aria-current'] === 'true')?.href;

test('no change is good news', () => {
  expect(part([]).lines).toEqual([
    'Closed days that have changed',
    'Last week {#/home/exports?since=week}Last 30 days {#/home/exports?since=month}Last year {#/home/exports?since=year} <Changed in>',
    'No closed day has changed',
    'What was reported for closed days in this time is still right.',
  ]);
});

test('the time is a week, a month or a year, and the choice keeps the rest of the address', () => {
  expect(chosenOf(part([]))).toBe('#/home/exports?since=week');
  const month = part([], { since: 'month', export: 'daily' }, '2026-04-17');
  expect(month.lines[1]).toBe(
    'Last week {#/home/exports?since=week&export=daily}Last 30 days {#/home/exports?since=month&export=daily}Last year {#/home/exports?since=year&export=daily} <Changed in>',
  );
  expect(chosenOf(month)).toBe('#/home/exports?since=month&export=daily');
  const year = part([restated], { since: 'year' }, '2025-05-17');
  expect(year.lines[2]).toContain('1 source day changed');
  expect(chosenOf(part([], { since: 'never' }))).toBe('#/home/exports?since=week');
});

test('a day that was higher before has a difference below zero', () => {
  expect(shown([restated])).toEqual([
    '1 source day changed after being closed, from 2.00 kWh {2000} to 1.50 kWh {1500}: a difference of -500 Wh {-500}.',
    'Changed days, last changed first',
    'Day | Source | Before | After | Difference | What | Because of | Changed',
    'Sat, May 2, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=total&day=2026-05-02} | Garage · total | 2.00 kWh {2000} | 1.50 kWh {1500} | -500 Wh {-500} | changed | late data of the stream, a correction by a person | May 16, 2026, 00:30',
    'Sum | | | | -500 Wh {-500} | | |',
    '<Changed days, last changed first>',
    '[Download CSV]',
  ]);
});

test('first energy is counted apart, so that it is no difference to zero', () => {
  expect(shown([added])).toEqual([
    '1 source day got its first energy after being closed: 700 Wh {700}.',
    'Changed days, last changed first',
    'Day | Source | Before | After | Difference | What | Because of | Changed',
    'Sun, May 3, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=total&day=2026-05-03} | Garage · total | – <not known> | 700 Wh {700} | +700 Wh {700} | new energy | an import | May 16, 2026, 10:00',
    'Sum | | | | +700 Wh {700} | | |',
    '<Changed days, last changed first>',
    '[Download CSV]',
  ]);
});

test('the last change comes first, and the sum has all changes', () => {
  const second = { ...added, day: '2026-05-05' };
  expect(shown([withdrawn, restated, added, second])).toEqual([
    '2 source days got their first energy after being closed: 1.40 kWh {1400}. 2 source days changed after being closed, from 4.00 kWh {4000} to 1.50 kWh {1500}: a difference of -2.50 kWh {-2500}.',
    'Changed days, last changed first',
    'Day | Source | Before | After | Difference | What | Because of | Changed',
    'Tue, May 5, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=total&day=2026-05-05} | Garage · total | – <not known> | 700 Wh {700} | +700 Wh {700} | new energy | an import | May 16, 2026, 10:00',
    'Sun, May 3, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=total&day=2026-05-03} | Garage · total | – <not known> | 700 Wh {700} | +700 Wh {700} | new energy | an import | May 16, 2026, 10:00',
    'Sat, May 2, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=total&day=2026-05-02} | Garage · total | 2.00 kWh {2000} | 1.50 kWh {1500} | -500 Wh {-500} | changed | late data of the stream, a correction by a person | May 16, 2026, 00:30',
    'Mon, May 4, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=default&day=2026-05-04} | Garage | 2.00 kWh {2000} | – <not known> | -2.00 kWh {-2000} | withdrawn | another time zone | May 14, 2026, 10:00',
    'Sum | | | | -1.10 kWh {-1100} | | |',
    '<Changed days, last changed first>',
    '[Download CSV]',
  ]);
});
