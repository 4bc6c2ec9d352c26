import { z } from 'zod';
import { DAY_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import type { AlertState } from './alert-state.ts';

const SNOOZES_MAX = 50;
export const SNOOZE_MS_MAX = 30 * DAY_MS;

/** The actions of people on alerts. `condition`: the name of a condition, or `all`. */
export const alertRequestSchema = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('snooze'),
    condition: z.string().max(64),
    /** 0 ends a snooze. */
    forMs: z.union([z.literal(0), z.int().min(MINUTE_MS).max(SNOOZE_MS_MAX)]),
    by: z.string().max(1_024),
  }),
  z.strictObject({
    do: z.literal('see'),
    condition: z.string().max(64),
    /** Default: all of the condition. */
    subject: z.string().max(1_024).optional(),
    by: z.string().max(1_024),
  }),
]);
export type AlertRequest = z.output<typeof alertRequestSchema>;

/** The change of the state that a person asks for. */
export function changeByHand(request: AlertRequest, nowMs: UtcMs): (state: AlertState) => AlertState {
  const { condition, by } = request;
  switch (request.do) {
    case 'snooze':
      return (state) => {
        const others = state.snoozes.filter(
          (snooze) =>
            snooze.condition !== condition &&
            condition !== 'all' &&
            Math.abs(nowMs - snooze.atMs) < snooze.forMs,
        );
        const { forMs } = request;
        const own = forMs > 0 ? [{ condition, atMs: nowMs, forMs, by }] : [];
        return { ...state, snoozes: [...others, ...own].slice(-SNOOZES_MAX) };
      };
    case 'see':
      return (state) => ({
        ...state,
        alarms: state.alarms.map((alarm) => {
          const isMeant = condition === 'all' || alarm.condition === condition;
          const isSubject = request.subject === undefined || alarm.subject === request.subject;
          if (!isMeant || !isSubject || alarm.seen || alarm.endedAtMs !== null) return alarm;
          return { ...alarm, seen: { by, atMs: nowMs } };
        }),
      });
    default:
      return request satisfies never;
  }
}
