import type { ConditionName, ConditionSettings } from '../config/alert-settings.ts';
import type { UtcMs } from '../lib/time.ts';
import type { AlertFacts } from './alert-facts.ts';

/** Something that a condition has found. */
export interface AlertFinding {
  /** See `Alarm`. */
  subject: string;
  /** One sentence. It does not change while the condition holds. */
  text: string;
  /** See `Alarm`. */
  lastsUntilMs?: UtcMs;
  /**
   * It is not known whether the condition holds, for example right after a start. An alarm of the subject
   * stays, and no new one begins.
   */
  isUnclear?: true;
}

/** A condition of the table: when it holds, and the words for it. */
export interface AlertCondition<Name extends ConditionName> {
  /** The beginning of a message, such as "Device silent". */
  title: string;
  /** It needs a person soon. */
  isUrgent?: true;
  /** No message is sent about subjects that are found when the condition is judged for the first time. */
  isNews?: true;
  /** Its alarms end without a message. */
  endsQuietly?: true;
  /**
   * It is about the machine. Each channel gets it from one workgroup of a worker only, and the title names no
   * workgroup.
   */
  isOfMachine?: true;
  /** Messages are at least this far apart. */
  digestMs?: number;
  /** @returns undefined if the facts are not known now */
  find(facts: AlertFacts, settings: ConditionSettings<Name>): AlertFinding[] | undefined;
}
