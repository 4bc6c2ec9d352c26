import { type Logger as PinoLogger, pino } from 'pino';

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

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
export function createLogger(options: { level: string; pretty?: boolean }): Logger {
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

/** A logger that writes nothing. Library users and tests take it. */
export const silentLogger: Logger = pino({ level: 'silent' });

const REPEATED_EVERY_MS = 10_000;

/**
 * The same logger, but it does not repeat itself. Every request meets the same error while something is down: the first is written
 * at once, the next ones as one line in 10 s that says how many were held back.
 */
export function sparingLogger(
  logger: Logger,
  events: ReadonlySet<string>,
  startTimer: (delayMs: number, ring: () => void) => void = (delayMs, ring) =>
    void setTimeout(ring, delayMs).unref(),
): Logger {
  const heldBack = new Map<string, { count: number; last: object }>();
  const tell = (fields: object, event: string) => {
    logger.error(fields, event);
    heldBack.set(event, { count: 0, last: fields });
    startTimer(REPEATED_EVERY_MS, () => {
      const { count, last } = heldBack.get(event)!;
      heldBack.delete(event);
      if (count > 0) tell({ ...last, heldBack: count }, event);
    });
  };
  return Object.assign(Object.create(logger) as Logger, {
    error(fields: object, event: string) {
      const held = heldBack.get(event);
      if (held !== undefined) heldBack.set(event, { count: held.count + 1, last: fields });
      else if (events.has(event)) tell(fields, event);
      else logger.error(fields, event);
    },
  });
}
