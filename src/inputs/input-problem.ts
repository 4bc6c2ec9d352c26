import { LINES_INPUT } from '../config/input-settings.ts';
import { formatInstant, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { type InputState, LOSSES_MS } from './input-counter.ts';

/** A broker that restarts is away for seconds. */
const GRACE_MS = 30 * SECOND_MS;
/** A connection that ends this often, in the time that a counter remembers, is a problem. */
export const LOSSES_MAX = 3;

/** A lasting problem of an input: since when, and what to do, in one line. */
export interface InputProblem {
  sinceMs: UtcMs;
  message: string;
}

/**
 * The lasting problem of an input: it is not connected, messages cannot be stored, or the connection ends
 * again and again. Undefined if it works, or if it has not worked for a moment only.
 * @param graceMs how long a moment is
 */
export function inputProblem(input: InputState, nowMs: UtcMs, graceMs = GRACE_MS): InputProblem | undefined {
  // A process of an older version has no losses.
  const { input: id, address, connection, problem, troubledSinceMs, losses = [] } = input;
  const name = id === LINES_INPUT ? 'the line protocol' : `input "${id}" (${address})`;
  const why = problem === undefined ? '' : `: ${problem}`;
  const advice = '"wattline doctor" looks for the reason';
  // A clock that was set back makes the time negative.
  if (troubledSinceMs !== undefined && Math.abs(nowMs - troubledSinceMs) >= graceMs) {
    const state = connection === 'connected' || connection === 'idle' ? 'has a problem' : 'is not connected';
    return {
      sinceMs: troubledSinceMs,
      message: `${name} ${state} since ${formatInstant(troubledSinceMs)}${why}; ${advice}`,
    };
  }
  const { length } = losses;
  if (length < LOSSES_MAX) return undefined;
  const last = losses.at(-1)!;
  return {
    sinceMs: losses[0]!.atMs,
    message: `${name} has lost its connection ${length} times in ${LOSSES_MS / MINUTE_MS} minutes: ${last.reason}; ${advice}`,
  };
}
