import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { permissions } from '../../access/grant.ts';
import { type Config, configSchema } from '../../config/config.ts';
import { errorMessage, TransientError } from '../../lib/errors.ts';
import { addDays, DAY_MS, dayStart, type LocalDate, localDateOf, SECOND_MS } from '../../lib/time.ts';
import { readStatuses } from '../../pipeline/workgroup-status.ts';
import type { Service } from '../../service/service.ts';
import type { Running } from '../../service/start-roles.ts';
import type { Terminal } from '../../service/terminal.ts';
import { createSite, type Site } from '../../simulate/create-site.ts';
import { globalOptions } from '../global-options.ts';
import { addListenOptions, type ListenOptions } from '../listen-options.ts';
import { runWithoutConfig } from '../run-service.ts';
import { inTempFolder } from '../temp-folder.ts';
import { printData } from '../terminal/output.ts';
import { settledDays } from './demo-days.ts';
import { type DemoState, type DemoSummary, describeDemo, describeStart, describeState } from './demo-view.ts';

const WORKGROUP = 'demo';
const DAYS_BACK = 2;
/** The past days are simulated within this time. Then the site follows the clock. */
const CATCH_UP_SECONDS = 15;
const READING_EVERY_MS = 60 * SECOND_MS;
/**
 * The devices stop sending this long before the end, because messages need a few seconds through the
 * pipeline.
 */
const SETTLE_MS = 4 * SECOND_MS;
/** Eleven days. Timers cannot wait for much longer. */
const SECONDS_MAX = 1_000_000;

interface DemoOptions extends ListenOptions {
  seconds?: number;
  seed: number;
}

export function addDemoCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('demo')
    .description('run everything on a simulated site, without a configuration')
    .option('--seconds <number>', 'end after this time and print a summary (default: on Ctrl-C)', (text) =>
      positiveNumber(text, SECONDS_MAX),
    )
    .option('--seed <number>', 'another site', (text) => positiveNumber(text, Number.MAX_SAFE_INTEGER), 1)
    .addHelpText('after', help);
  addListenOptions(command).action((options: DemoOptions) =>
    runWithoutConfig(command, terminal, async (service) => {
      const isQuiet = globalOptions(command).json ?? false;
      const summary = await runDemo(
        options,
        service,
        isQuiet ? () => undefined : (text) => terminal.out(text),
      );
      printData(command, terminal, summary, () => describeDemo(summary));
    }),
  );
}

/** Runs everything on a simulated site in a temporary folder, until its time is over or it is interrupted. */
async function runDemo(
  options: DemoOptions,
  service: Service,
  show: (text: string) => void,
): Promise<DemoSummary> {
  return inTempFolder('demo', service, (dataDir) => runDemoIn(dataDir, options, service, show));
}

async function runDemoIn(
  dataDir: string,
  options: DemoOptions,
  service: Service,
  show: (text: string) => void,
): Promise<DemoSummary> {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const firstDay = addDays(localDateOf(service.clock.now(), timezone), -DAYS_BACK);
  const site = createSite({
    seed: options.seed,
    timezone,
    startMs: dayStart(firstDay, timezone),
    readingEveryMs: READING_EVERY_MS,
  });
  const ending = new AbortController();
  service.signal.addEventListener('abort', () => ending.abort());
  if (service.signal.aborted) ending.abort();
  show('Starting. This takes a few seconds.\n');
  const { running, config } = await start(site, { ...options, dataDir }, service);
  const startedMs = performance.now();
  const untilMs = startedMs + (options.seconds ?? Number.POSITIVE_INFINITY) * SECOND_MS;
  const timer =
    options.seconds === undefined
      ? undefined
      : setTimeout(() => ending.abort(), Math.max(options.seconds * SECOND_MS - SETTLE_MS, 0));
  try {
    // Everything that the page offers can be tried.
    const scopes = { [WORKGROUP]: { permissions: [...permissions] } };
    // An unlisted token writes no audit entries between the messages that are counted.
    const { token } = await running.access.issue(
      { subject: 'demo', scopes, lifetimeMs: DAY_MS },
      { unlisted: true },
    );
    show(describeStart({ url: running.url!, token, dataDir, workgroup: WORKGROUP, site }));
    const secondsLeft = (untilMs - SETTLE_MS - performance.now()) / SECOND_MS;
    const catchUpSeconds = Math.max(1, Math.min(CATCH_UP_SECONDS, secondsLeft - 1));
    const { runSimulation } = await import('../../simulate/run-simulation.ts');
    const simulating = runSimulation({
      site,
      url: running.url!,
      workgroup: WORKGROUP,
      token,
      speed: Math.round(((DAYS_BACK + 1) * 86_400) / catchUpSeconds),
      signal: ending.signal,
      logger: service.logger,
    });
    simulating.catch(() => ending.abort());
    const report = (day: LocalDate) => readDay(running, token, day);
    await watch(config, service, ending.signal, {
      report,
      timezone,
      isInteractive: service.terminal.isInteractive,
      show,
    });
    show('Waiting for the last messages ...\n');
    const sent = await simulating;
    const settledByMs = service.signal.aborted ? performance.now() + SETTLE_MS : untilMs;
    const { landed, days } = await settledDays(site, sent, {
      landed: () => statusOf(config)?.poll.messages ?? 0,
      report,
      untilMs: settledByMs,
    });
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10;
    return { seconds, sent: sent.items, landed, generation: statusOf(config)?.publish.generation, days };
  } finally {
    clearTimeout(timer);
    await running.stop();
  }
}

/**
 * Starts everything on the port of the command line, else on the usual port, or on a free one if that is
 * taken.
 */
async function start(
  site: Site,
  { host, port, dataDir }: DemoOptions & { dataDir: string },
  service: Service,
): Promise<{ running: Running; config: Config }> {
  const { timezone, energyStreams, devices } = site;
  const configOn = (onPort: number) =>
    configSchema.parse({
      dataDir,
      logLevel: 'warn',
      http: { port: onPort, ...(host && { host }) },
      pipeline: { publishEvery: '2s' },
      workgroups: [{ id: WORKGROUP, timezone, energyStreams, devices, roles: site.roles }],
    });
  const roles = ['stream', 'worker', 'report'] as const;
  const config = configOn(port ?? configSchema.parse({}).http.port);
  const { startRoles } = await import('../../service/start-roles.ts');
  try {
    return { running: await startRoles(config, roles, service), config };
  } catch (error) {
    if (port !== undefined || !(error instanceof TransientError && error.code === 'PortTaken')) throw error;
    const other = configOn(0);
    return { running: await startRoles(other, roles, service), config: other };
  }
}

interface Watching {
  report: (day: LocalDate) => Promise<Record<string, number>>;
  timezone: string;
  isInteractive: boolean;
  show: (text: string) => void;
}

/** Shows the state until `signal` aborts: in place on a terminal, else one line every few seconds. */
async function watch(
  config: Config,
  service: Service,
  signal: AbortSignal,
  watching: Watching,
): Promise<void> {
  const { report, timezone, isInteractive, show } = watching;
  let drawnLines = 0;
  for (let round = 0; !signal.aborted; round += 1) {
    await sleep(SECOND_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted || (!isInteractive && round % 3 !== 0)) continue;
    const today = localDateOf(service.clock.now(), timezone);
    const state: DemoState = {
      nowMs: service.clock.now(),
      timezone,
      status: statusOf(config),
      energyWh: await report(today).catch((error: unknown) => ({ [errorMessage(error)]: 0 })),
      wide: isInteractive,
    };
    const text = describeState(state);
    show(drawnLines > 0 ? `\u001b[${drawnLines}A\u001b[J${text}` : text);
    drawnLines = isInteractive ? text.split('\n').length - 1 : 0;
  }
}

function statusOf({ dataDir }: Config) {
  return readStatuses(dataDir)[0];
}

async function readDay({ url }: Running, token: string, day: LocalDate): Promise<Record<string, number>> {
  const address = `${url}/api/v1/orgs/${WORKGROUP}/daily-energy?groupBy=source&startDate=${day}&endDate=${day}`;
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  if (!answer.ok) throw new Error(`the report answered with status ${answer.status}`);
  return ((await answer.json()) as Record<LocalDate, Record<string, number>>)[day] ?? {};
}

function positiveNumber(text: string, max: number): number {
  const number = Number(text);
  if (!(number > 0 && number <= max)) throw new InvalidArgumentError(`Use a number above 0, at most ${max}.`);
  return number;
}

const help = `
Simulates inverters, a battery and a meter. Two past days, with restarts, outages and late deliveries, are simulated within seconds. Then the
site continues in real time. The stream, the warehouse, the lake and the report are the real ones. Nothing is kept.

Examples:
  wattline demo
  wattline demo --seconds 30
  wattline demo --port 9000`;
