import type { EnergyEvent, SeriesBreak } from './register-rule.ts';
import { ruleConstants } from './rules.ts';

/** What is plausible for power and for interval readings. */
export interface PowerRule {
  /** Whether the limit is learnt, not configured: then only a reading that stands alone is left out. */
  learnt: boolean;
}

/** A step from readings within the limit to one beyond it, or back. */
export interface PowerBreak extends SeriesBreak {
  /**
   * Whether it ends beyond the limit. Values do not tell, because the limits before and after midnight may differ, and with them what an interval can
   * bring: then a smaller value may be beyond, and a larger one back.
   */
  isBeyond: boolean;
}

/**
 * Which readings of power are left out as spikes. All that are beyond a configured limit are, however long that lasts. A learnt limit
 * says less: by it only a single reading is, once the next one is possible again, because what two readings agree on has been measured.
 * @param breaks of one series in time order: readings beyond the limit after one that is not (or the very first, from itself), and back
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
