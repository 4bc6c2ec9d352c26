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
  /** Since when it is not connected or cannot store messages. Undefined if it works. */
  troubledSinceMs?: UtcMs | undefined;
  /** Ends of the connection. */
  disconnects: number;
  /** The newest ends of the connection, of the last minutes. */
  losses: Array<{ atMs: UtcMs; reason: string }>;
  lastMessageAtMs?: UtcMs | undefined;
  /** Messages or lines of the last minute. */
  perMinute: number;
  /** All counts are since the input was started, or its settings changed. */
  received: number;
  /** Readings that are stored. */
  stored: number;
  /** Delivered again, and already stored. */
  repeated: number;
  /** Without a reading, or of a topic without a rule, or retained by the broker. */
  ignored: number;
  retained: number;
  refused: number;
  lastIgnored?: string | undefined;
  lastRefused?: { atMs: UtcMs; about: string; reason: string } | undefined;
}

type InputCount = 'stored' | 'repeated' | 'ignored' | 'retained' | 'refused';

/** Counts what an input receives. */
export interface InputCounter {
  noteReceived(count?: number): void;
  count(what: InputCount, count?: number): void;
  noteIgnored(reason: string): void;
  noteRefused(about: string, reason: string): void;
  connection(state: InputState['connection'], problem?: string): void;
  /** Sets or ends the problem of storing messages. */
  problem(text: string | undefined): void;
  state(): InputState;
}

/** Ends of a connection are remembered for this long. */
export const LOSSES_MS = 5 * MINUTE_MS;
const LOSSES_KEPT_MAX = 100;
/** The last minute has this many parts, so that its sum is never far off. */
const PARTS = 12;

/** @param of what does not change, and the first state of the connection */
export function createInputCounter(
  of: Pick<InputState, 'workgroupId' | 'input' | 'kind' | 'address' | 'connection'>,
  clock: Clock,
): InputCounter {
  const counts = { disconnects: 0, received: 0, stored: 0, repeated: 0, ignored: 0, retained: 0, refused: 0 };
  let connection: Pick<InputState, 'connection' | 'problem' | 'sinceMs'> = {
    connection: of.connection,
    sinceMs: clock.now(),
  };
  let storing: { text: string; sinceMs: UtcMs } | undefined;
  let losses: InputState['losses'] = [];
  let lastMessageAtMs: UtcMs | undefined;
  let lastIgnored: string | undefined;
  let lastRefused: InputState['lastRefused'];
  /** Messages of the newest parts of time, by the number of the part. */
  const parts = new Map<number, number>();
  const isDown = (state: InputState['connection']) => state === 'connecting' || state === 'disconnected';
  const recent = (all: InputState['losses']) =>
    all.filter(({ atMs }) => Math.abs(clock.now() - atMs) < LOSSES_MS);
  const partNow = () => Math.floor((elapsedOf(clock) * PARTS) / MINUTE_MS);
  const forgetOld = () => {
    for (const part of parts.keys()) if (part <= partNow() - PARTS) parts.delete(part);
  };

  return {
    noteReceived(count = 1) {
      counts.received += count;
      lastMessageAtMs = clock.now();
      const part = partNow();
      if (!parts.has(part)) forgetOld();
      parts.set(part, (parts.get(part) ?? 0) + count);
    },
    count(what, count = 1) {
      counts[what] += count;
    },
    noteIgnored(reason) {
      counts.ignored++;
      lastIgnored = reason;
    },
    noteRefused(about, reason) {
      counts.refused++;
      lastRefused = { atMs: clock.now(), about, reason };
    },
    connection(state, problem) {
      const nowMs = clock.now();
      if (connection.connection === 'connected' && state === 'disconnected') {
        counts.disconnects++;
        losses = [...recent(losses), { atMs: nowMs, reason: problem ?? 'the connection has ended' }].slice(
          -LOSSES_KEPT_MAX,
        );
      }
      const wasDown = isDown(connection.connection) && isDown(state);
      const sinceMs = state === connection.connection || wasDown ? connection.sinceMs : nowMs;
      connection = { connection: state, problem, sinceMs };
    },
    problem(text) {
      storing = text === undefined ? undefined : { text, sinceMs: storing?.sinceMs ?? clock.now() };
    },
    state() {
      forgetOld();
      const perMinute = [...parts.values()].reduce((sum, count) => sum + count, 0);
      const problem = storing?.text ?? connection.problem;
      return {
        ...of,
        ...connection,
        ...counts,
        problem,
        troubledSinceMs: isDown(connection.connection) ? connection.sinceMs : storing?.sinceMs,
        losses: recent(losses),
        perMinute,
        lastMessageAtMs,
        lastIgnored,
        lastRefused,
      };
    },
  };
}
