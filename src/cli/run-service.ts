import { rmSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { createLogger, sparingLogger } from '../lib/logger.ts';
import { SECOND_MS, systemClock } from '../lib/time.ts';
import type { Service } from '../service/service.ts';
import type { Terminal } from '../service/terminal.ts';
import { globalOptions } from './global-options.ts';

/** Runs a role with the configuration that the command line names. */
export async function runService(
  command: Command,
  terminal: Terminal,
  run: (config: Config, service: Service) => Promise<void>,
): Promise<void> {
  const { configLoader, withOptions } = await import('./read-config.ts');
  const loader = configLoader(command, terminal);
  const loaded = loader.load();
  const config = withOptions(command, loaded);
  await runUntilEnded(config.logLevel, terminal, (service) =>
    run(config, { ...service, configSource: { loader, loaded } }),
  );
}

/**
 * Like `runService`, for a command that ends by itself: it logs only warnings, unless `--log-level` is given.
 */
export async function runTask(
  command: Command,
  terminal: Terminal,
  run: (config: Config, service: Service) => Promise<void>,
): Promise<void> {
  const { readConfig } = await import('./read-config.ts');
  const configured = readConfig(command, terminal);
  const isTold = globalOptions(command).logLevel !== undefined;
  const isChatty = configured.logLevel === 'debug' || configured.logLevel === 'info';
  const config: Config = isTold || !isChatty ? configured : { ...configured, logLevel: 'warn' };
  await runUntilEnded(config.logLevel, terminal, (service) => run(config, service));
}

/** Like `runService`, without a configuration. */
export async function runWithoutConfig(
  command: Command,
  terminal: Terminal,
  run: (service: Service) => Promise<void>,
): Promise<void> {
  await runUntilEnded(globalOptions(command).logLevel ?? 'warn', terminal, run);
}

/**
 * This is longer than all parts need to stop. A part that still runs after this time will not end by itself.
 */
const END_MS = 19.5 * SECOND_MS;

/** With npm, one Ctrl-C arrives twice: the terminal sends it to every process, and npm forwards its own. */
const SAME_MS = 250;

/** Events that every request repeats while the storage fails. */
const REPEATED_EVENTS = new Set([
  'stream.append-failed',
  'stream.open-failed',
  'http.unavailable',
  'input.not-followed',
  'input.not-stored',
  'socket.unavailable',
]);

/**
 * Ctrl-C or SIGTERM asks the role to end. A second one ends the process at once, and so does the time limit.
 * Nothing is lost, because acknowledged messages are on the disk.
 */
async function runUntilEnded(
  level: string,
  terminal: Terminal,
  run: (service: Service) => Promise<void>,
): Promise<void> {
  const logger = sparingLogger(createLogger({ level }), REPEATED_EVENTS);
  const controller = new AbortController();
  const temporary = new Set<string>();
  const kill = (signal: NodeJS.Signals) => {
    for (const folder of temporary) rmSync(folder, { recursive: true, force: true });
    terminal.kill(signal);
  };
  let askedAtMs = 0;
  const stopListening = terminal.onEnd((signal) => {
    if (controller.signal.aborted) {
      const isAgain = performance.now() - askedAtMs > SAME_MS;
      if (isAgain && signal !== 'EPIPE') kill(signal);
      return;
    }
    askedAtMs = performance.now();
    logger.info({ signal }, 'process.ending');
    controller.abort();
    // The time limit also applies after the role has ended, because threads and connections keep a process
    // alive.
    setTimeout(() => {
      logger.error({ withinMs: END_MS }, 'process.killed');
      kill('SIGKILL');
    }, END_MS).unref();
  });
  try {
    await run({ logger, clock: systemClock, terminal, signal: controller.signal, temporary });
  } finally {
    stopListening();
  }
}
