import { type ComparedDay, compareDays, type ExpectedDay } from '../../src/cli/replay/expected-days.ts';
import type { ReplayResult } from '../../src/cli/replay/replay-cases.ts';
import type { ExplainArgs, Explained } from '../../src/explain/explained-schema.ts';
import type { LocalDate } from '../../src/lib/time.ts';

/** A short explanation of a day. */
export interface Why {
  method: string | null;
  flags: string[];
  coverage: number | null;
  /** What happened to the register or the power, as sentences. */
  events: string[];
  sum: string;
}

export interface CheckedCase {
  name: string;
  verdict: 'matches' | 'differs' | 'not compared';
  /** Known days of a device and source, how many of them match, and how many have no energy at all. */
  compared: number;
  matching: number;
  missing: number;
  /** Days that have energy, but whose true energy is not known. */
  extra: number;
  /** The day with the largest difference in relation to its tolerance; null if nothing is compared. */
  worst: (ComparedDay & { why: Why }) | null;
  /** The worst of the days that do not match. */
  differing: Array<ComparedDay & { why: Why }>;
  messages: number;
  rejected: Record<string, number>;
  seconds: number;
}

/** At most this many differing days of a case are explained. */
const DIFFERING_MAX = 10;
const EVENTS_MAX = 12;

/** Compares a case, and explains the worst day and the days that do not match. */
export async function checkCase(replayed: {
  name: string;
  expected: readonly ExpectedDay[] | undefined;
  result: ReplayResult;
  explain: (args: ExplainArgs) => Promise<Explained>;
}): Promise<CheckedCase> {
  const { name, expected, result, explain } = replayed;
  const days = compareDays(expected ?? [], result.bySource);
  const differing = days.filter(({ matches }) => !matches);
  const explained = async (day: ComparedDay) => ({ ...day, why: explanation(await explain(day)) });
  const worst = days[0] ? await explained(days[0]) : null;
  const explainedDays = [];
  for (const day of differing.slice(0, DIFFERING_MAX)) explainedDays.push(await explained(day));
  return {
    name,
    verdict: expected === undefined ? 'not compared' : differing.length > 0 ? 'differs' : 'matches',
    compared: days.length,
    matching: days.length - differing.length,
    missing: days.filter(({ gotWh }) => gotWh === null).length,
    extra: countDays(result.bySource) - days.filter(({ gotWh }) => gotWh !== null).length,
    worst,
    differing: explainedDays,
    messages: result.messages,
    rejected: result.rejectedByReason,
    seconds: result.seconds,
  };
}

function countDays(bySource: Record<LocalDate, Record<string, number>>): number {
  return Object.values(bySource).reduce((sum, series) => sum + Object.keys(series).length, 0);
}

function explanation({ sources: [source], text }: Explained): Why {
  if (!source) return { method: null, flags: [], coverage: null, events: [], sum: text };
  const { result, events, sum } = source;
  return {
    method: result?.method ?? null,
    flags: result?.flags ?? [],
    coverage: result?.coverage ?? null,
    events: events.slice(0, EVENTS_MAX).map((event) => `${event.kind}: ${event.text}`),
    sum: sum.text,
  };
}
