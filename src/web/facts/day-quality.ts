import type { ColumnMark } from '../pictures/bar-data.ts';
import { flagName, sortFlags, worstRank } from '../words/flag-words.ts';
import { plural } from '../words/number-words.ts';
import type { DayOfSeries } from './answers.ts';

/** The quality of a day, from the values of several series. */
interface DayQuality {
  isProvisional: boolean;
  mark: ColumnMark | undefined;
  notes: string[];
}

/** The flags that say something. Today is not over, so the flags of a partial day say nothing about it. */
export function tellingFlags(flags: readonly string[], isToday: boolean): readonly string[] {
  return isToday ? flags.filter((flag) => flag !== 'partial' && flag !== 'estimated') : flags;
}

/** @param missing series without any value on the day */
export function qualityOf(values: readonly DayOfSeries[], missing: number): DayQuality {
  const flags = sortFlags(values.flatMap((value) => value.flags));
  const rank = worstRank(flags);
  const isRestated = values.some(({ status }) => status === 'restated');
  const isProvisional = values.some(({ status }) => status === 'provisional');
  const mark = rank === 'bad' || rank === 'doubtful' ? rank : isRestated ? 'restated' : rank;
  return {
    isProvisional,
    mark: mark ?? (missing > 0 ? 'doubtful' : undefined),
    notes: [
      ...(isRestated ? ['restated'] : []),
      ...(isProvisional ? ['provisional'] : []),
      ...(missing > 0 ? [`no data of ${plural(missing, 'source')}`] : []),
      ...flags.map((flag) => {
        const count = values.filter((value) => value.flags.includes(flag)).length;
        return `${flagName(flag)}${values.length > 1 ? ` (${count} of ${values.length})` : ''}`;
      }),
    ],
  };
}
