import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { configWarnings } from '../../config/config-warnings.ts';
import { findSecretFiles, findSecrets, readSecrets } from '../../config/find-secrets.ts';
import { hideSecrets } from '../../config/hide-secrets.ts';
import { checkAccess, checkSecrets } from '../../doctor/check-access.ts';
import { checkAlerts } from '../../doctor/check-alerts.ts';
import { checkBuckets } from '../../doctor/check-buckets.ts';
import { checkCertificates } from '../../doctor/check-certificates.ts';
import { checkClock, type TimeServer } from '../../doctor/check-clock.ts';
import { checkConfiguration, refusedConfiguration } from '../../doctor/check-configuration.ts';
import { checkDataFolder } from '../../doctor/check-data-folder.ts';
import { checkExports } from '../../doctor/check-exports.ts';
import { checkInputs } from '../../doctor/check-inputs.ts';
import { checkMail } from '../../doctor/check-mail.ts';
import { checkPorts } from '../../doctor/check-ports.ts';
import { checkRedis } from '../../doctor/check-redis.ts';
import { checkProcesses, checkWorkgroups } from '../../doctor/check-service.ts';
import { checkUpstreams } from '../../doctor/check-upstreams.ts';
import { checkVersions, ownVersions } from '../../doctor/check-versions.ts';
import { type Check, type DoctorFinding, runChecks } from '../../doctor/run-checks.ts';
import { measureFolders, readLogEnd, withoutImports, writeBundle } from '../../doctor/write-bundle.ts';
import { InputError, TransientError } from '../../lib/errors.ts';
import { formatCountOf } from '../../lib/format-count.ts';
import { silentLogger } from '../../lib/logger.ts';
import { formatInstant, systemClock } from '../../lib/time.ts';
import type { WorkgroupState } from '../../operate/workgroup-state.ts';
import { readersWarning } from '../../service/hold-roles.ts';
import { sharingProblems, sharingWarnings } from '../../service/require-shared-storage.ts';
import type { Terminal } from '../../service/terminal.ts';
import { globalOptions } from '../global-options.ts';
import { readConfig } from '../read-config.ts';
import { askConfigStates, describeConfigStates, streamUrl } from '../status/status-config.ts';
import { readStates } from '../status/status-states.ts';
import { FAILING_CODE } from '../terminal/exit-codes.ts';
import { printData, printNote } from '../terminal/output.ts';

export interface DoctorOptions {
  bundle?: string;
  log?: string;
}

/**
 * Examines the service that the command line names, prints the findings, and writes the bundle that
 * `--bundle` names.
 */
export async function runDoctor(
  command: Command,
  terminal: Terminal,
  { bundle, log }: DoctorOptions,
): Promise<void> {
  if (log !== undefined && bundle === undefined)
    throw new InputError('the command line', [{ path: '--log', message: 'is only used with --bundle' }]);
  const logEnd = log === undefined ? undefined : readLogEnd(resolve(terminal.cwd, log));
  const examined = await examine(command, terminal);
  const { findings } = examined;
  if (bundle !== undefined) {
    const path = resolve(terminal.cwd, bundle);
    const source = { path: globalOptions(command).config, ...terminal };
    const secrets = readSecrets(source);
    if (logEnd && !secrets)
      printNote(
        command,
        terminal,
        'the log was left out: the configuration cannot be read, so its secrets are not known',
      );
    await bundleUp(path, examined, secrets ? { secrets, log: logEnd } : { secrets: [] });
    printNote(
      command,
      terminal,
      `${path} was written; read it before you send it: it has names, and no readings`,
    );
  }
  printData(command, terminal, findings, (_columnsMax, shown) => describe(shown));
  const problems = findings.filter(({ state }) => state === 'problem').length;
  if (problems > 0) throw new TransientError(FAILING_CODE, `${formatCountOf(problems, 'problem')}, above`);
}

/** The findings, and the parts that were examined. */
interface Examined {
  findings: DoctorFinding[];
  /** Undefined if the configuration cannot be used. */
  config?: Config;
  states: WorkgroupState[];
  processes: Awaited<ReturnType<typeof askConfigStates>>;
}

async function examine(command: Command, terminal: Terminal): Promise<Examined> {
  let config: Config;
  try {
    config = readConfig(command, terminal);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const checks = [refusedConfiguration(error.problems), checkVersions(async () => [])];
    return { findings: await runChecks(checks), states: [], processes: [] };
  }
  const examined: Examined = { findings: [], config, states: [], processes: [] };
  const asking = askConfigStates(config.dataDir);
  const processes = async () => {
    examined.processes = await asking;
    return examined.processes;
  };
  const states = async () => {
    examined.states = await statesOf(config, streamUrl(await asking));
    return examined.states;
  };
  const { path, cwd } = { path: globalOptions(command).config, cwd: terminal.cwd };
  const ownUrls = async () =>
    (await asking).flatMap(({ outcome }) =>
      outcome.kind === 'answer' && outcome.answer.url !== undefined ? [outcome.answer.url] : [],
    );
  const checks: Check[] = [
    checkConfiguration(config.workgroups.length, () => settingsOf(config)),
    checkDataFolder(config),
    ...checkRedis(config),
    ...checkBuckets(config),
    checkClock(timeServers(config, streamUrl(await asking)), systemClock, process.versions.tz),
    checkPorts(config, ownUrls),
    ...checkUpstreams(config, systemClock),
    ...checkInputs(config, systemClock),
    ...checkMail(config, systemClock),
    ...checkAlerts(config),
    ...checkExports(config),
    ...checkCertificates(config, systemClock),
    checkAccess(config, systemClock),
    checkSecrets(config, findSecretFiles({ path, cwd })),
    checkVersions(processes),
    checkProcesses(processes, describeConfigStates),
    checkWorkgroups(states),
  ];
  examined.findings = await runChecks(checks);
  return examined;
}

/** The check does not know which roles will run. */
const allRoles = ['stream', 'worker', 'report'] as const;

function settingsOf(config: Config) {
  const tooOpen = existsSync(config.dataDir) ? readersWarning(config) : undefined;
  return {
    problems: sharingProblems(config, allRoles),
    warnings: [
      ...configWarnings(config),
      ...sharingWarnings(config, allRoles),
      ...(tooOpen ? [tooOpen] : []),
    ],
  };
}

async function statesOf(config: Config, ownUrl: string | undefined): Promise<WorkgroupState[]> {
  if (!existsSync(config.dataDir)) return [];
  const { openControl } = await import('../../service/open-control.ts');
  const control = openControl(config, { logger: silentLogger });
  return readStates(config, config.workgroups, { control, ownUrl }, { withEffects: false }).finally(
    control.close,
  );
}

/** Without credentials and paths. Each server is asked once. */
function timeServers({ workgroups, storage }: Config, ownUrl: string | undefined): TimeServer[] {
  const upstreams = workgroups.flatMap(({ upstream }) => (upstream ? [new URL(upstream.url)] : []));
  const servers: TimeServer[] = [
    ...(ownUrl === undefined ? [] : [{ name: 'the own service', url: `${new URL(ownUrl).origin}/health` }]),
    ...upstreams.map(({ host, origin }) => ({ name: `the upstream ${host}`, url: origin })),
    ...(storage.s3 ? [{ name: 'the bucket', url: new URL(storage.s3.endpoint).origin }] : []),
  ];
  return [...new Map(servers.map((server) => [server.url, server])).values()];
}

async function bundleUp(
  path: string,
  examined: Examined,
  { secrets, log }: { secrets: string[]; log?: string[] | undefined },
): Promise<void> {
  const { findings, config, states, processes } = examined;
  const bundle = {
    createdAt: formatInstant(systemClock.now()),
    versions: await ownVersions(),
    findings,
    ...(config && { configuration: hideSecrets(config) }),
    processes,
    workgroups: states.map(withoutImports),
    folders: config ? await measureFolders(config.dataDir) : [],
    ...(log && { log }),
  };
  writeBundle(path, bundle, [...secrets, ...findSecrets(config)]);
}

function describe(findings: readonly DoctorFinding[]): string {
  return findings
    .map(({ check, state, found, next }) => {
      const advice = next === undefined ? '' : `; ${next}`;
      return `${state.padEnd('problem'.length)}  ${check}: ${found}${advice}\n`;
    })
    .join('');
}
