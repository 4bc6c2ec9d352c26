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
