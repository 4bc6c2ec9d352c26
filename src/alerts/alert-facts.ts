import type { LocalDate, UtcMs } from '../lib/time.ts';

/** A day of a source of a device. */
export interface DayFact {
  day: LocalDate;
  device: string;
  source: string;
  /** After this time the day is not judged any more. */
  seenUntilMs: UtcMs;
}

export interface StageFact {
  stage: string;
  /** The time without success since it was due. */
  failingMs: number;
  why: string;
  /** The stage is not late: it runs or waits for another stage, and has not failed before. */
  isAtWork: boolean;
  /** Its last run has succeeded. False also before its first run after a start. */
  hasSucceeded: boolean;
}

/**
 * The facts that decide the conditions of a workgroup. A fact that is undefined is not known now, and its
 * alarms stay as they are.
 */
export interface AlertFacts {
  nowMs: UtcMs;
  retentionMs: number;
  /** Names of devices for people. */
  nameOf(device: string): string;
  /** The stages. A workgroup that cannot be opened has the stage `open`. */
  stages?: readonly StageFact[] | undefined;
  /** Age of the last message that was read while there are newer ones. */
  lagMs?: number | undefined;
  /** True if nothing was read since the start, so that the lag can be larger. */
  mayLagMore?: boolean | undefined;
  gaps?:
    | ReadonlyArray<{ gapId: number; reason: string; fromMs: UtcMs | null; toMs: UtcMs | null }>
    | undefined;
  /** Devices by the time since their last data. */
  silences?: ReadonlyArray<{ device: string; silentMs: number; lastSeenMs: UtcMs }> | undefined;
  /** Days of devices that report 0 Wh, with the number of others of the same source that have energy. */
  idleDays?: ReadonlyArray<DayFact & { siblings: number }> | undefined;
  /** Final days with their coverage. */
  thinDays?: ReadonlyArray<DayFact & { coverage: number }> | undefined;
  flaggedDays?: ReadonlyArray<DayFact & { flag: string }> | undefined;
  restatedDays?:
    | ReadonlyArray<DayFact & { version: number; beforeWh: number | null; afterWh: number | null }>
    | undefined;
  /** Messages of the last hour. */
  lastHour?: { messages: number; quarantined: number } | undefined;
  exports?:
    | ReadonlyArray<{
        id: string;
        outdatedFiles: number;
        /** The oldest file that is due and not delivered. */
        undelivered?: { period: string; dueMs: UtcMs; why?: string | undefined } | undefined;
      }>
    | undefined;
  /** Sites with a budget, from the first of the month to yesterday. */
  budgets?: ReadonlyArray<{ site: string; month: string; actualWh: number; budgetWh: number }> | undefined;
  disk?: { freeBytes: number; sizeBytes: number; folder: string; machine: string } | undefined;
  inputs?:
    | ReadonlyArray<{
        input: string;
        address: string;
        /** Null if it is connected. */
        disconnectedMs: number | null;
        /** Ends of the connection in the last minutes. */
        losses: number;
        /** Why it is not connected, or why the last connection ended. */
        problem?: string | undefined;
      }>
    | undefined;
}
