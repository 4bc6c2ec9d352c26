import { expect, test } from 'vitest';
import { settledDays } from '../../src/cli/demo/demo-days.ts';
import { addDays, DAY_MS, dayStart, type LocalDate } from '../../src/lib/time.ts';
import { createSite } from '../../src/simulate/create-site.ts';

const timezone = 'Europe/Paris';
const firstDay: LocalDate = '2026-06-01';
const startMs = dayStart(firstDay, timezone);
const site = createSite({ seed: 1, timezone, startMs, readingEveryMs: 60_000 });
const truthOf = (day: LocalDate) =>
  Object.fromEntries(
    site.truth(day).map(({ device, source, energyWh }) => [`${device}.${source}`, energyWh]),
  );

test.each([
  { landedAfter: 2, equalAfter: 0, lastLook: 6 },
  { landedAfter: 0, equalAfter: 4, lastLook: 6 },
])(
  'the demo ends when all has landed and every day equals the generated energy, and not earlier: %j',
  async (after) => {
    const sent = { items: 100, simulatedUntilMs: startMs + 2.5 * DAY_MS };
    let looks = 0;
    const { landed, days } = await settledDays(site, sent, {
      landed: () => (looks > after.landedAfter ? 100 : 99),
      report: async (day) => {
        looks += 1;
        return looks > after.equalAfter ? truthOf(day) : {};
      },
      untilMs: Number.POSITIVE_INFINITY,
    });
    expect(landed).toBe(100);
    expect(days.map(({ day, different }) => [day, different])).toEqual([
      [firstDay, []],
      [addDays(firstDay, 1), []],
    ]);
    expect(looks).toBe(after.lastLook);
  },
);

test('after its time limit the demo reports the missing days, among the days that were sent completely', async () => {
  const report = async () => ({});
  const untilMs = performance.now();
  const halfDay = { items: 1, simulatedUntilMs: startMs + DAY_MS / 2 };
  expect(await settledDays(site, halfDay, { landed: () => 0, report, untilMs })).toEqual({
    landed: 0,
    days: [],
  });
  const twoDays = { items: 1, simulatedUntilMs: startMs + 2 * DAY_MS };
  const { days } = await settledDays(site, twoDays, { landed: () => 0, report, untilMs });
  expect(days[0]).toMatchObject({ day: firstDay, reportedWh: 0 });
  expect(days[0]!.different.length).toBeGreaterThan(3);
});
