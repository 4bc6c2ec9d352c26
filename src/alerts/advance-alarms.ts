import type { ConditionName } from '../config/alert-settings.ts';
import type { UtcMs } from '../lib/time.ts';
import type { AlertCondition, AlertFinding } from './alert-condition-type.ts';
import { alertConditions } from './alert-conditions.ts';
import type { Alarm, AlertState } from './alert-state.ts';

/** Alarms of a workgroup. Those that open beyond this number are dropped. */
const ALARMS_MAX = 10_000;
const TEXT_CHARACTERS_MAX = 300;

/** The findings of the conditions. A condition whose facts are not known is left out. */
export type Findings = ReadonlyMap<ConditionName, readonly AlertFinding[]>;

/**
 * The alarms after a look at the conditions: found subjects open an alarm, and others end. Alarms of
 * conditions that are not judged stay.
 * @param active conditions that are not off. Alarms of others are dropped
 * @param hasLasted true if a finding without an alarm has lasted long enough
 * @returns the same state if nothing has changed
 */
export function advanceAlarms(
  state: AlertState,
  findings: Findings,
  {
    active,
    hasLasted,
    nowMs,
  }: {
    active: readonly ConditionName[];
    hasLasted: (condition: string, subject: string) => boolean;
    nowMs: UtcMs;
  },
): AlertState {
  /** The findings by condition and subject. Those of known alarms are removed below. */
  const newFindings = new Map(
    [...findings].map(([name, found]) => [name as string, new Map(found.map((one) => [one.subject, one]))]),
  );
  const underWay = new Set(
    Object.values(state.channels).flatMap(({ message }) =>
      message?.kind === 'raised' ? message.subjects.map((subject) => `${message.condition} ${subject}`) : [],
    ),
  );
  // A message without an answer may have arrived, so its recovery is sent, too.
  const isUnderWay = ({ condition, subject }: Alarm) => underWay.has(`${condition} ${subject}`);
  const continuingAlarms = state.alarms.flatMap((alarm): Alarm[] => {
    // The condition is no longer configured.
    if (!(active as readonly string[]).includes(alarm.condition)) return [];
    const found = newFindings.get(alarm.condition);
    // Nobody knows now whether it holds: the condition was not judged, or not for this subject.
    if (!found || found.get(alarm.subject)?.isUnclear) return [alarm];
    // It holds still or again, so the finding is not new.
    if (found.delete(alarm.subject))
      return [alarm.endedAtMs === null ? alarm : { ...alarm, endedAtMs: null }];
    // It has ended.
    if (!isUnderWay(alarm) && endsQuietly(alarm, nowMs)) return [];
    return [alarm.endedAtMs === null ? { ...alarm, endedAtMs: nowMs } : alarm];
  });
  const opened = [...newFindings].flatMap(([condition, found]) => {
    const { isNews }: AlertCondition<ConditionName> = alertConditions[condition as ConditionName];
    const isFromFirstLook = isNews === true && !state.judged.includes(condition);
    return [...found.values()]
      .filter(({ subject, isUnclear }) => !isUnclear && (isFromFirstLook || hasLasted(condition, subject)))
      .map(
        ({ subject, text, lastsUntilMs }): Alarm => ({
          condition,
          subject,
          text: text.slice(0, TEXT_CHARACTERS_MAX),
          openedAtMs: nowMs,
          endedAtMs: null,
          ...(isFromFirstLook && { isKnown: true }),
          ...(lastsUntilMs !== undefined && { lastsUntilMs }),
          channels: {},
        }),
      );
  });
  const judged = active.filter((name) => state.judged.includes(name) || findings.has(name));
  const alarms = [...continuingAlarms, ...opened].slice(0, ALARMS_MAX);
  const isSame =
    judged.length === state.judged.length &&
    alarms.length === state.alarms.length &&
    alarms.every((alarm, index) => alarm === state.alarms[index]);
  return isSame ? state : { ...state, alarms, judged };
}

/** True if no channel needs a message about its end. */
function endsQuietly({ condition, lastsUntilMs, channels }: Alarm, nowMs: UtcMs): boolean {
  const rules: AlertCondition<ConditionName> = alertConditions[condition as ConditionName];
  const isOutOfSight = lastsUntilMs !== undefined && nowMs >= lastsUntilMs;
  return rules.endsQuietly === true || isOutOfSight || !Object.values(channels).includes('told');
}
