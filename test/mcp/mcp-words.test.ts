import { expect, test } from 'vitest';
import { budgetLines, dayLines, periodLines, qualityLines } from '../../src/mcp/energy-lines.ts';
import {
  ANSWER_CHARACTERS_MAX,
  energyText,
  explanationLines,
  linesText,
  measuredShareText,
} from '../../src/mcp/mcp-words.ts';
import { readableWorkgroups } from '../../src/mcp/readable-workgroups.ts';
import type { Explanation } from '../../src/report-client/client-answers.ts';

const days = ['2026-05-01', '2026-05-02', '2026-05-03'];
const devices = new Map([
  ['id-1', 'garage'],
  ['id-2', 'roof'],
]);
const row = (day: string, more: Record<string, unknown> = {}) => ({
  day,
  device: 'id-1',
  energy_wh: 1_500,
  coverage: 1,
  status: 'final',
  flags: '',
  ...more,
});

test.each([
  [undefined, 'unknown'],
  [null, 'unknown'],
  [0, '0 Wh'],
  [-999, '-999 Wh'],
  [1_000, '1 kWh'],
  [-1_500, '-1.5 kWh'],
  [1_234_567, '1,234.567 kWh'],
])('energy of %s Wh is "%s"', (wh, text) => expect(energyText(wh)).toBe(text));

test('an incomplete day is never 100 %, and an unknown coverage is said', () => {
  expect(measuredShareText(1)).toBe('100 % of the time is measured');
  expect(measuredShareText(0.999)).toBe('99 % of the time is measured');
  expect(measuredShareText(null)).toBe('coverage unknown');
});

test('an answer has one line for each text, and says that it is cut', () => {
  expect(linesText(['a\nb', 'c'])).toBe('a\\u000ab\nc');
  const cut = linesText(Array.from({ length: 20 }, () => 'x'.repeat(999))).split('\n');
  expect(cut).toHaveLength(16);
  expect(cut.at(-1)).toBe('... the answer is cut here; ask for fewer days or devices');
  expect(cut.join('\n').length).toBeLessThanOrEqual(ANSWER_CHARACTERS_MAX);
});

test('an explanation has the sum, the coverage, and each flag, event, correction and version', () => {
  const text = (name: string) => [{ text: name }];
  const source = {
    source: 'pv',
    result: { energyWh: 1_500, field: 'total', table: 'solar', method: 'total_energy', status: 'final' },
    sum: { text: 'a sum' },
    coverage: { text: 'a coverage' },
    flags: [{ flag: 'reset', reason: 'a reason' }],
    events: text('an event'),
    corrections: text('a correction'),
    versions: text('a version'),
  };
  const unknown = { ...source, result: null, flags: [], events: [], corrections: [], versions: [] };
  const about = { device: 'id-1', day: '2026-05-01', timezone: 'Etc/UTC' };
  expect(explanationLines({ ...about, sources: [source, unknown] } as unknown as Explanation)).toEqual([
    'Device id-1 on 2026-05-01 (Etc/UTC):',
    'Source pv: 1.5 kWh, from the field total of the table solar (total_energy), final',
    '  sum: a sum',
    '  coverage: a coverage',
    '  flag: reset: a reason',
    '  event: an event',
    '  correction: a correction',
    '  version: a version',
    'Source pv: the energy is unknown',
    '  sum: a sum',
    '  coverage: a coverage',
  ]);
});

test('a token is for the workgroups with reports that it may read, in the order of their ids', () => {
  const scope = (...permissions: string[]) => ({ permissions });
  const scopes = { roof: scope('search:read'), home: scope('search:read'), log: scope('data:write') };
  const token = `h.${Buffer.from(JSON.stringify({ scopes })).toString('base64url')}.s`;
  expect(readableWorkgroups(token)).toEqual(['home', 'roof']);
  expect(readableWorkgroups('no token')).toEqual([]);
});

test('each device has a line on each day, and a day without energy is unknown', () => {
  const rows = [
    row(days[0]!, { flags: ['partial', 'reset'], coverage: 0.5 }),
    row(days[1]!, { energy_wh: null }),
  ];
  expect(dayLines(rows, days.slice(0, 2), devices)).toEqual([
    '2026-05-01 garage: 1.5 kWh (final, 50 % of the time is measured, flags: partial, reset)',
    '2026-05-01 roof: the energy is unknown',
    '2026-05-02 garage: the energy is unknown',
    '2026-05-02 roof: the energy is unknown',
  ]);
});

test('a sum says of how many days it is', () => {
  const sums = { period: '2026-05', device: 'id-1', energy_wh: 700, days: 30 };
  expect(periodLines([sums, { ...sums, device_name: 'garage' }])).toEqual([
    '2026-05 id-1: 700 Wh on the 30 days whose energy is known',
    '2026-05 garage: 700 Wh on the 30 days whose energy is known',
  ]);
});

test('the quality of a device comes from its own days with energy: the worst of them, and the days of each flag', () => {
  const rows = [
    row(days[0]!, { coverage: 0.9, flags: 'partial' }),
    row(days[1]!, { coverage: 0.2, flags: 'partial, reset' }),
    row(days[2]!, { energy_wh: null, coverage: 0, flags: 'invalid' }),
  ];
  expect(qualityLines(rows, days, devices)).toEqual([
    'garage: the energy of 2 of 3 days is known; on the worst of them 20 % of the time is measured; flags: partial on 2 days, reset on 1 day',
    'roof: the energy of 0 of 3 days is known',
  ]);
  expect(qualityLines([], days.slice(0, 1), devices)[1]).toBe('roof: the energy of 0 of 1 day is known');
});

test('budget and measured energy are compared on the days that have both', () => {
  const budgets = { '2026-05-01': { PV: 1_000 }, '2026-05-02': { PV: 2_000 }, '2026-05-03': {} };
  const measured = { '2026-05-01': { PV: 900 }, '2026-05-03': { PV: 5_000, GRID: 1 } };
  expect(budgetLines(budgets, measured)).toEqual([
    'Meter GRID: the budget of 0 of 3 days is unknown; the measured energy of these days is unknown',
    'Meter PV: the budget of 2 of 3 days is 3 kWh; on the 1 day that are measured, 900 Wh were measured and 1 kWh planned',
  ]);
});
