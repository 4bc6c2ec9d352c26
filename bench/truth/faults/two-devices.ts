import type { Chance } from '../chance.ts';
import { type Draft, type DraftSample, hide, innerDay, type Span, samplesIn, wholeSpan } from '../draft.ts';
import type { Fault } from './fault.ts';

export const twoDevicesFault: Fault = {
  name: 'two devices',
  on: 'device',
  takesManyForms: true,
  fits: (fields) => !fields.includes('energy'),
  apply: twoDevices,
};

/**
 * Another device of the same kind sends with the same id, and the two take turns. Its register has another
 * level, and its power is a multiple. Nobody can know which device is the right one.
 */
function twoDevices(draft: Draft, chance: Chance): Span[] {
  const { days, fields, everyMs } = draft.plan;
  const span = chance.isTrue('all the time', 0.6)
    ? wholeSpan(draft)
    : { fromMs: days[innerDay(draft, chance)]!.startMs, toMs: days.at(-1)!.endMs };
  const share = chance.magnitude('share', 0.4, 2.5);
  const level = chance.magnitude('level', 0.1, 10);
  const afterMs = Math.max(
    1_000,
    Math.round((everyMs * chance.pick('after', [0.5, 0.1, 0.01])) / 1_000) * 1_000,
  );
  const others = samplesIn(draft, span).map((sample): DraftSample => {
    const stampMs = sample.stampMs + afterMs;
    return {
      ...sample,
      stampMs,
      atMs: stampMs,
      arrivesMs: sample.arrivesMs + stampMs - sample.stampMs,
      totalWh: draft.plan.startWh * level + 5_000 + (sample.totalWh - draft.plan.startWh) * share,
      dailyWh: sample.dailyWh * share,
      powerW: sample.powerW * share,
      data: {},
    };
  });
  const inside = others.filter(({ atMs }) => atMs < days.at(-1)!.endMs);
  draft.samples = [...draft.samples, ...inside].sort((one, other) => one.atMs - other.atMs);
  hide(draft, fields, span);
  draft.ambiguous.push({ ...span, low: Math.min(1, share), high: 1 + share });
  return [span];
}
