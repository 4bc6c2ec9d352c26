import { HOUR_MS, MINUTE_MS } from '../../../src/lib/time.ts';
import type { Chance } from '../chance.ts';
import { type Draft, hide, innerDay, type Span, samplesIn } from '../draft.ts';
import { wakeUpMs } from '../samples.ts';
import { countsAtNight, solarOnly } from './common.ts';
import { type Fault, hasDaily, hasDailyOnly } from './fault.ts';

/** What goes wrong in a register that starts again each day. */
export const dailyFaults: readonly Fault[] = [
  {
    name: 'daily: end of day lost',
    on: 'device',
    takesManyForms: true,
    fits: hasDailyOnly,
    wants: {
      deviceKinds: countsAtNight,
      everyMs: [HOUR_MS],
      jitter: ['share'],
      dailyResets: ['midnight'],
    },
    apply: endOfDayLost,
  },
  {
    name: 'daily: resets elsewhere',
    on: 'device',
    fits: hasDailyOnly,
    wants: {
      dailyResets: ['noon', 'utc_midnight'],
      timezones: ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Adelaide'],
    },
    apply: resetsElsewhere,
  },
  {
    name: 'daily: resets late',
    on: 'device',
    fits: hasDaily,
    wants: { dailyResets: ['midnight'] },
    apply: resetsLate,
  },
  {
    name: 'daily: resets early',
    on: 'device',
    fits: hasDaily,
    wants: { deviceKinds: countsAtNight, dailyResets: ['midnight'] },
    apply: resetsEarly,
  },
  {
    name: 'daily: misses a reset',
    on: 'device',
    fits: hasDaily,
    wants: { dailyResets: ['midnight'] },
    apply: missesReset,
  },
  {
    name: 'daily: carry-over',
    on: 'device',
    fits: hasDaily,
    wants: { deviceKinds: solarOnly },
    apply: carriesOver,
  },
];

/**
 * The daily register starts again some time after midnight, on every day or on some days. Until then it
 * continues to count.
 */
function resetsLate(draft: Draft, chance: Chance): Span[] {
  const delayMs = chance.whole('minutes', 10, 180) * MINUTE_MS;
  return moveResets(draft, chance, delayMs);
}

/** The daily register starts again some time before midnight, on every day or on some days. */
function resetsEarly(draft: Draft, chance: Chance): Span[] {
  return moveResets(draft, chance, -chance.whole('minutes', 5, 90) * MINUTE_MS);
}

function moveResets(draft: Draft, chance: Chance, byMs: number): Span[] {
  const share = chance.pick('share', [1, 0.3]);
  // The first reset lies before the first day.
  const always = innerDay(draft, chance) + 1;
  const moved = draft.resetsMs.daily.map((ms, index) =>
    index === always || chance.isTrue('moved', share, index) ? ms + byMs : ms,
  );
  const spans = draft.resetsMs.daily.flatMap((ms, index) =>
    moved[index] === ms ? [] : [{ fromMs: Math.min(ms, ms + byMs), toMs: Math.max(ms, ms + byMs) }],
  );
  recount(draft, moved);
  return spans;
}

/**
 * In the morning the daily register still shows the value of the day before. One or two hours after the
 * device wakes up, it shows the value of today.
 */
function carriesOver(draft: Draft, chance: Chance): Span[] {
  const { curve, days } = draft.plan;
  return days.slice(1).flatMap(({ startMs }, index) => {
    if (!chance.isTrue('morning', 0.7, index)) return [];
    const wakeMs = wakeUpMs(curve, startMs) ?? startMs;
    const span = { fromMs: startMs, toMs: wakeMs + chance.whole('minutes', 5, 150, index) * MINUTE_MS };
    const before = draft.samples.findLast(({ atMs }) => atMs < startMs);
    if (!before) return [];
    for (const sample of samplesIn(draft, span)) sample.dailyWh = before.dailyWh;
    hide(draft, ['daily'], span);
    return [span];
  });
}

/** On one day the daily register does not start again, so it counts two days together. */
function missesReset(draft: Draft, chance: Chance): Span[] {
  const { days } = draft.plan;
  const day = innerDay(draft, chance);
  const bounds = { fromMs: days[day]!.startMs, toMs: days[day]!.endMs };
  recount(
    draft,
    draft.resetsMs.daily.filter((ms) => ms < bounds.fromMs || ms >= bounds.toMs),
  );
  return [bounds];
}

function recount(draft: Draft, resetsMs: number[]): void {
  const { curve } = draft.plan;
  for (const sample of draft.samples) {
    const sinceMs = resetsMs.findLast((ms) => ms <= sample.atMs) ?? curve.startMs;
    sample.dailyWh = curve.energyWh(sinceMs, sample.atMs);
  }
  draft.resetsMs.daily = resetsMs;
}

/**
 * The daily register starts again at noon or at midnight of UTC. This is a part of the plan of the recording.
 */
function resetsElsewhere({ resetsMs }: Draft): Span[] {
  return resetsMs.daily.map((fromMs) => ({ fromMs, toMs: fromMs + HOUR_MS }));
}

/**
 * Hourly readings miss the end of each day of the daily register. This is a part of the plan of the
 * recording.
 */
function endOfDayLost({ resetsMs }: Draft): Span[] {
  return resetsMs.daily.map((toMs) => ({ fromMs: toMs - HOUR_MS, toMs }));
}
