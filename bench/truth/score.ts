import { errorMessage } from '../../src/lib/errors.ts';
import type { LocalDate } from '../../src/lib/time.ts';
import { type Category, categorize, isAcceptable, strayDay } from './category.ts';
import type { Isolated } from './isolate.ts';
import type { TrueDay } from './knowledge.ts';
import type { Recording } from './recording.ts';
import type { Answer } from './roll-up.ts';

/** A day of a recording with the result of the roll-up. */
export interface ScoredDay {
  truth: TrueDay;
  answer: Answer | undefined;
  category: Category;
  isAcceptable: boolean;
}

/** A recording that has been rolled up. What takes much memory is left out. */
export interface ScoredRecording {
  id: string;
  faults: string[];
  configuration: string;
  timezone: string;
  /** The error of the roll-up; undefined if it succeeded. */
  thrown: string | undefined;
  days: ScoredDay[];
}

export function scoreRecording(
  recording: Recording,
  rolledUp: Isolated<Map<LocalDate, Answer>>,
): ScoredRecording {
  const { id, faults, configuration, plan } = recording;
  const score = (truth: TrueDay, answer: Answer | undefined): ScoredDay => {
    const category =
      rolledUp.kind === 'thrown' ? 'thrown' : categorize(truth, plan.device.installedW, answer);
    return { truth, answer, category, isAcceptable: isAcceptable(category, truth) };
  };
  const answers: Map<LocalDate, Answer> = rolledUp.kind === 'done' ? rolledUp.result : new Map();
  const known = new Set(recording.days.map(({ day }) => day));
  // Little energy at the edges does not matter: it is exact, and not counted.
  const strays = [...answers]
    .filter(([day]) => !known.has(day))
    .map(([day, answer]) => score(strayDay(day), answer))
    .filter(({ category }) => category !== 'exact');
  return {
    id,
    faults,
    configuration,
    timezone: plan.place.timezone,
    thrown: rolledUp.kind === 'thrown' ? errorMessage(rolledUp.error) : undefined,
    days: [...recording.days.map((truth) => score(truth, answers.get(truth.day))), ...strays],
  };
}

/** The difference between an answer and the truth (Wh). Without an answer it is the whole truth. */
export function offWhOf({ truth: { lowWh, highWh }, answer }: ScoredDay): number {
  const energyWh = answer?.energyWh ?? 0;
  return Math.max(0, lowWh - energyWh, energyWh - highWh);
}
