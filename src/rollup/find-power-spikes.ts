import type { EnergyEvent, SeriesBreak } from './register-rule.ts';
import { ruleConstants } from './rule-constants.ts';

/** The limits of power and of interval readings. */
interface PowerRule {
  /** True if the limit is learnt, not configured. Then only a single reading is a spike. */
  learnt: boolean;
}

/** Two neighbouring readings: from one within the limit to one beyond it, or back. */
interface PowerBreak extends SeriesBreak {
  /**
   * True if the second reading is beyond the limit. The values alone do not show it, because the limits
   * before and after midnight can differ.
   */
  isBeyond: boolean;
}

/**
 * Finds the readings of power that are left out as spikes. With a configured limit these are all readings
 * beyond it. With a learnt limit it is only a single reading between possible ones, because two readings that
 * agree were measured.
 * @param breaks of one series in order: from a possible reading to one beyond the limit, and back; the very
 *   first reading is compared with itself
 */
export function findPowerSpikes(breaks: readonly PowerBreak[], rule: PowerRule): EnergyEvent[] {
  return breaks.flatMap((beyond, index) => {
    if (!beyond.isBeyond) return [];
    const isFirst = beyond.fromMs === beyond.toMs;
    const back = breaks[index + 1];
    if (rule.learnt && back?.fromMs !== beyond.toMs) return [];
    return [
      {
        kind: 'spike',
        fromMs: beyond.toMs,
        toMs: back?.fromMs ?? ruleConstants.forever_ms.value,
        valueBefore: isFirst ? 0 : beyond.fromValue,
        valueAfter: beyond.toValue,
        energyWh: 0,
      },
    ];
  });
}
