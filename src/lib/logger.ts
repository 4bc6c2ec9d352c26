import { type Logger, pino } from 'pino';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

/** Fields that may hold a credential: they are cut out wherever they stand in a log event. */
const SECRET_PATHS = [
  'token',
  'authorization',
  'password',
  'secret',
  'headers.authorization',
  'headers.cookie',
];

/** Structured log events on standard error, one a stage, named `stage.event`; standard output belongs to the data. */
export function createLog(options: { level: string; pretty?: boolean }): Log {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...SECRET_PATHS, ...SECRET_PATHS.map((path) => `*.${path}`)], censor: '[secret]' },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** A log that says nothing, for library use and tests. */
export const silentLog: Log = pino({ level: 'silent' });

const REPEATED_EVERY_MS = 10_000;

/**
 * The same log, with errors that every request meets while something is down told at once and then as one line in 10 s, which
 * says how many were held back.
 */
export function sparingLog(
  log: Log,
  events: ReadonlySet<string>,
  startTimer: (delayMs: number, ring: () => void) => void = (delayMs, ring) =>
    void setTimeout(ring, delayMs).unref(),
): Log {
  const heldBack = new Map<string, { count: number; last: object }>();
  const tell = (fields: object, event: string) => {
    log.error(fields, event);
    heldBack.set(event, { count: 0, last: fields });
    startTimer(REPEATED_EVERY_MS, () => {
      const { count, last } = heldBack.get(event)!;
      heldBack.delete(event);
      if (count > 0) tell({ ...last, heldBack: count }, event);
    });
  };
  return Object.assign(Object.create(log) as Log, {
    error(fields: object, event: string) {
      const held = heldBack.get(event);
      if (held !== undefined) heldBack.set(event, { count: held.count + 1, last: fields });
      else if (events.has(event)) tell(fields, event);
      else log.error(fields, event);
    },
  });
}
