import { ruleConstants } from '../rollup/rule-constants.ts';
import { plainDuration } from './explain-words.ts';
import type { Boundary, Event, ExplainedCorrection, Flag } from './explained-schema.ts';

type Span = Flag['spans'][number];

const kindsOf: Readonly<Record<string, ReadonlyArray<Event['kind']>>> = {
  reset: ['reset', 'register_change'],
  rollover: ['rollover'],
  rebase: ['rebase'],
  jitter: ['jitter'],
  spike: ['spike'],
  glitch: ['glitch'],
  gap: ['gap'],
  carry_over: ['carry_over'],
};

/** The reason of each flag of a day. */
export function flagsOf(
  names: readonly string[],
  meanings: ReadonlyMap<string, string>,
  facts: {
    events: readonly Event[];
    boundaries: readonly Boundary[];
    uncovered: readonly Span[];
    coverage: string;
    /** Declared sources of the device without energy. */
    missing: readonly string[];
    /** The energy of methods that contradict. */
    contradictions: readonly string[];
    /** The energy of each method, the chosen one first. */
    methods: readonly string[];
    /** The corrections of the day, and undos. */
    corrections: readonly ExplainedCorrection[];
  },
): Flag[] {
  return names.map((flag) => ({ flag, meaning: meanings.get(flag) ?? flag, ...reasonOf(flag, facts) }));
}

function reasonOf(flag: string, facts: Parameters<typeof flagsOf>[2]): { reason: string; spans: Span[] } {
  if (flag === 'estimated') {
    const silences = facts.boundaries.flatMap(({ time, before, after }) => {
      if (!before || !after) return [];
      const lengthMs = Date.parse(after.time) - Date.parse(before.time);
      return lengthMs > ruleConstants.silence_ms.value
        ? [{ from: before.time, to: after.time, time, lengthMs }]
        : [];
    });
    const reason = silences.map(
      ({ lengthMs }) => `a boundary lies inside ${plainDuration(lengthMs)} without readings`,
    );
    const filled = facts.corrections.filter(({ kind, undoneBy }) => kind === 'fill' && undoneBy === null);
    reason.push(...filled.map(({ id }) => `correction ${id} is an estimate`));
    return {
      reason: reason.join('; '),
      spans: [...silences, ...filled].map(({ from, to }) => ({ from, to })),
    };
  }
  if (flag === 'partial') return { reason: facts.coverage, spans: [...facts.uncovered] };
  if (flag === 'incomplete') {
    return {
      reason: `these declared sources of the device have no energy: ${facts.missing.join(', ')}`,
      spans: [],
    };
  }
  if (flag === 'unavailable') {
    const reason =
      'a field of this source is set aside, because its computation fails: wattline status shows why';
    return { reason, spans: [] };
  }
  if (flag === 'substituted') {
    const [chosen, ...others] = facts.methods;
    return {
      reason: `read from another method, because ${chosen}, and the first one must be wrong: ${others.join('; ')}`,
      spans: [],
    };
  }
  if (flag === 'contradicted') return { reason: facts.contradictions.join('; '), spans: [] };
  if (flag === 'corrected') {
    const inForce = facts.corrections.filter(({ kind, undoneBy }) => kind !== 'undo' && undoneBy === null);
    return {
      reason: inForce.map(({ id, reason }) => `correction ${id}: ${reason}`).join('; '),
      spans: inForce.map(({ from, to }) => ({ from, to })),
    };
  }
  const kinds = kindsOf[flag] ?? [];
  const events = facts.events.filter(({ kind }) => kinds.includes(kind));
  return {
    reason: events.map(({ text }) => text).join('; '),
    spans: events.map(({ from, to }) => ({ from, to })),
  };
}
