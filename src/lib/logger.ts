import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { SECOND_MS } from './time.ts';
import { type StartTimer, startSystemTimer } from './timer.ts';

export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

/** Fields that may contain credentials. They are removed from all log events. */
const SECRET_PATHS = [
  'token',
  'authorization',
  'password',
  'secret',
  'headers.authorization',
  'headers.cookie',
];

/** Writes structured log events to standard error, named `stage.event`. Standard output is only for data. */
export function createLogger(
  options: { level: string },
  destination: DestinationStream = pino.destination({ dest: 2, sync: true }),
): Logger {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...SECRET_PATHS, ...SECRET_PATHS.map((path) => `*.${path}`)], censor: '[secret]' },
    },
    destination,
  );
}

/**
 * Passes each log event on as a line of JSON with `level`, `msg` and its fields. For a child process: its
 * parent process writes the log.
 */
export function createForwardingLogger(write: (line: string) => void): Logger {
  return pino(
    { level: 'debug', base: null, timestamp: false, formatters: { level: (label) => ({ level: label }) } },
    { write },
  );
}

/** A logger that writes nothing, for tests and library users. */
export const silentLogger: Logger = pino({ level: 'silent' });

const REPEATED_EVERY_MS = 10 * SECOND_MS;

/**
 * Suppresses repetition: the first event is written at once, and later ones as one line in 10 s with their
 * number. Every request can meet the same error.
 */
export function sparingLogger(
  logger: Logger,
  events: ReadonlySet<string>,
  startTimer: StartTimer = startSystemTimer,
): Logger {
  const heldBack = new Map<string, { count: number; last: object }>();
  const logNow = (fields: object, event: string) => {
    logger.error(fields, event);
    heldBack.set(event, { count: 0, last: fields });
    startTimer(REPEATED_EVERY_MS, () => {
      const { count, last } = heldBack.get(event)!;
      heldBack.delete(event);
      if (count > 0) logNow({ ...last, heldBack: count }, event);
    });
  };
  return Object.assign(Object.create(logger) as Logger, {
    error(fields: object, event: string) {
      const held = heldBack.get(event);
      if (held !== undefined) heldBack.set(event, { count: held.count + 1, last: fields });
      else if (events.has(event)) logNow(fields, event);
      else logger.error(fields, event);
    },
  });
}
