import { type Clock, elapsedOf, MINUTE_MS, type UtcMs } from '../lib/time.ts';

/** The state of one input, as `wattline inputs` shows it. Plain JSON. */
export interface InputState {
  workgroupId: string;
  /** The id of an MQTT input; `lines` for the line protocol. */
  input: string;
  kind: 'mqtt' | 'lines';
  /** The address of the broker, or of the endpoint. */
  address: string;
  connection: 'connected' | 'connecting' | 'disconnected' | 'idle';
  /** Why it is not connected, or why messages cannot be stored. */
  problem?: string | undefined;
  /** Since when the connection has this state. */
  sinceMs: UtcMs;
  lastMessageAtMs?: UtcMs | undefined;
  /** Messages or lines of the last minute. */
  perMinute: number;
  /** All counts are since the start of the process. */
  received: number;
  /** Readings that are stored. */
  stored: number;
  /** Delivered again, and already stored. */
  repeated: number;
  /** Without a reading, about no rule, or retained by the broker. */
  ignored: number;
  retained: number;
  refused: number;
  lastIgnored?: string | undefined;
  lastRefused?: { atMs: UtcMs; about: string; reason: string } | undefined;
}

export type InputCount = 'stored' | 'repeated' | 'ignored' | 'retained' | 'refused';

/** Counts what an input receives. */
export interface InputMeter {
  received(count?: number): void;
  count(what: InputCount, count?: number): void;
  ignored(reason: string): void;
  refused(about: string, reason: string): void;
  connection(state: InputState['connection'], problem?: string): void;
  /** Sets or ends the problem of storing messages. */
  problem(text: string | undefined): void;
  state(): InputState;
}

/** The last minute has this many parts, so that its sum is never far off. */
const PARTS = 12;

/** @param of what does not change, and the first state of the connection */
export function createInputMeter(
  of: Pick<InputState, 'workgroupId' | 'input' | 'kind' | 'address' | 'connection'>,
  clock: Clock,
): InputMeter {
  const counts = { received: 0, stored: 0, repeated: 0, ignored: 0, retained: 0, refused: 0 };
  let connection: Pick<InputState, 'connection' | 'problem' | 'sinceMs'> = {
    connection: of.connection,
    sinceMs: clock.now(),
  };
  let storing: string | undefined;
  let lastMessageAtMs: UtcMs | undefined;
  let lastIgnored: string | undefined;
  let lastRefused: InputState['lastRefused'];
  /** Messages of the newest parts of time, by the number of the part. */
  const parts = new Map<number, number>();
  const partNow = () => Math.floor((elapsedOf(clock) * PARTS) / MINUTE_MS);
  const forgetOld = () => {
    for (const part of parts.keys()) if (part <= partNow() - PARTS) parts.delete(part);
  };

  return {
    received(count = 1) {
      counts.received += count;
      lastMessageAtMs = clock.now();
      const part = partNow();
      if (!parts.has(part)) forgetOld();
      parts.set(part, (parts.get(part) ?? 0) + count);
    },
    count(what, count = 1) {
      counts[what] += count;
    },
    ignored(reason) {
      counts.ignored++;
      lastIgnored = reason;
    },
    refused(about, reason) {
      counts.refused++;
      lastRefused = { atMs: clock.now(), about, reason };
    },
    connection(state, problem) {
      const sinceMs = state === connection.connection ? connection.sinceMs : clock.now();
      connection = { connection: state, problem, sinceMs };
    },
    problem(text) {
      storing = text;
    },
    state() {
      forgetOld();
      const perMinute = [...parts.values()].reduce((sum, count) => sum + count, 0);
      const problem = storing ?? connection.problem;
      return {
        ...of,
        ...connection,
        ...counts,
        problem,
        perMinute,
        lastMessageAtMs,
        lastIgnored,
        lastRefused,
      };
    },
  };
}
