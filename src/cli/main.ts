import { Command, CommanderError, Option } from 'commander';
import { programVersion } from '../lib/program-version.ts';
import type { Terminal } from '../service/terminal.ts';
import { exitCodeOf, exitCodes, exitCodesHelp } from './terminal/exit-codes.ts';
import { printError } from './terminal/print-error.ts';
import { fromSystemError } from './terminal/system-error.ts';
import { wrapHelp } from './terminal/wrap-help.ts';

/**
 * Runs the command that the arguments name.
 * @param args without the program's name
 * @returns the exit code; errors have been printed
 */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  // These options are searched by hand, because parsing the command line may fail.
  const json = args.includes('--json');
  const program = await createProgram(terminal, args, { json });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCodes.done;
  } catch (thrown) {
    const error = fromSystemError(isHelpForWantOfCommand(thrown) && json ? noCommand() : thrown);
    const isHelp = error instanceof CommanderError && error.code.startsWith('commander.help');
    const isVersion = error instanceof CommanderError && error.code === 'commander.version';
    if (!isHelp && !isVersion) {
      const debug = Boolean(terminal.environment.WATTLINE_DEBUG) || program.opts().logLevel === 'debug';
      printError(withHelp(error, program, args), terminal, { json, debug });
    }
    return exitCodeOf(error);
  }
}

/** Adds the matching help command to an error of the command line. */
function withHelp(error: unknown, program: Command, args: readonly string[]): unknown {
  if (!(error instanceof CommanderError) || !incomplete.has(error.code)) return error;
  if (error.message.includes('(Did you mean')) return error;
  let command = program;
  for (const name of args.filter((arg) => arg !== 'help'))
    command = command.commands.find((one) => one.name() === name) ?? command;
  const names = namesOf(command).join(' ');
  const message = error.message.replace(/\.$/, '');
  return new CommanderError(
    error.exitCode,
    error.code,
    `${message}; see "wattline help${names && ` ${names}`}"`,
  );
}

function namesOf(command: Command): string[] {
  return command.parent ? [...namesOf(command.parent), command.name()] : [];
}

const incomplete: ReadonlySet<string> = new Set([
  'commander.missingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.optionMissingArgument',
  'commander.unknownOption',
  'commander.unknownCommand',
  'commander.excessArguments',
]);

/** Commander prints help to standard error if a command is missing. */
function isHelpForWantOfCommand(error: unknown): boolean {
  return error instanceof CommanderError && error.code === 'commander.help' && error.exitCode !== 0;
}

function noCommand(): CommanderError {
  return new CommanderError(2, 'wattline.noCommand', "a command is missing; 'wattline --help' lists them");
}

/** All commands, in the order of the help. */
const commands: Readonly<Record<string, (program: Command, terminal: Terminal) => Promise<void>>> = {
  up: async (...to) => (await import('./up/up-command.ts')).addUpCommand(...to),
  stream: async (...to) => (await import('./stream/stream-command.ts')).addStreamCommand(...to),
  worker: async (...to) => (await import('./worker/worker-command.ts')).addWorkerCommand(...to),
  report: async (...to) => (await import('./report/report-command.ts')).addReportCommand(...to),
  reload: async (...to) => (await import('./reload/reload-command.ts')).addReloadCommand(...to),
  status: async (...to) => (await import('./status/status-command.ts')).addStatusCommand(...to),
  inputs: async (...to) => (await import('./inputs/inputs-command.ts')).addInputsCommand(...to),
  alerts: async (...to) => (await import('./alerts/alerts-command.ts')).addAlertsCommand(...to),
  doctor: async (...to) => (await import('./doctor/doctor-command.ts')).addDoctorCommand(...to),
  explain: async (...to) => (await import('./explain/explain-command.ts')).addExplainCommand(...to),
  changes: async (...to) => (await import('./changes/changes-command.ts')).addChangesCommand(...to),
  correct: async (...to) => (await import('./correct/correct-command.ts')).addCorrectCommand(...to),
  retry: async (...to) => (await import('./retry/retry-command.ts')).addRetryCommand(...to),
  token: async (...to) => (await import('./token/token-command.ts')).addTokenCommand(...to),
  config: async (...to) => (await import('./config/config-command.ts')).addConfigCommand(...to),
  import: async (...to) => (await import('./import/import-command.ts')).addImportCommand(...to),
  backfill: async (...to) => (await import('./backfill/backfill-command.ts')).addBackfillCommand(...to),
  'meter-data': async (...to) => (await import('./upload/upload-commands.ts')).addMeterDataCommand(...to),
  budget: async (...to) => (await import('./upload/upload-commands.ts')).addBudgetCommand(...to),
  exports: async (...to) => (await import('./exports/exports-command.ts')).addExportsCommand(...to),
  backup: async (...to) => (await import('./backup/backup-command.ts')).addBackupCommand(...to),
  restore: async (...to) => (await import('./backup/restore-command.ts')).addRestoreCommand(...to),
  verify: async (...to) => (await import('./backup/verify-command.ts')).addVerifyCommand(...to),
  replay: async (...to) => (await import('./replay/replay-command.ts')).addReplayCommand(...to),
  conformance: async (...to) =>
    (await import('./conformance/conformance-command.ts')).addConformanceCommand(...to),
  mcp: async (...to) => (await import('./mcp/mcp-command.ts')).addMcpCommand(...to),
  demo: async (...to) => (await import('./demo/demo-command.ts')).addDemoCommand(...to),
  version: async (...to) => (await import('./version/version-command.ts')).addVersionCommand(...to),
};

/**
 * Adds only the commands that the arguments name, and all if they name none. Commands without an engine or a
 * server start fast.
 */
async function createProgram(
  terminal: Terminal,
  args: readonly string[],
  { json }: { json: boolean },
): Promise<Command> {
  const program = new Command('wattline');
  const columns = () => program.configureOutput().getOutHelpWidth?.() ?? 80;
  program
    .description('Turns a real-time telemetry stream into daily energy.')
    .version(programVersion, '-V, --version', 'print the version')
    .option('-c, --config <file>', 'the configuration file (default: wattline.yaml in the current folder)')
    .option('--json', 'print data as JSON on standard output, and errors as JSON on standard error')
    .addOption(
      new Option('--log-level <level>', 'the log level (default: logLevel of the configuration)').choices([
        'debug',
        'info',
        'warn',
        'error',
        'silent',
      ]),
    )
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(wrapHelp(text, columns())),
      // Suppresses help that commander prints on errors.
      writeErr: (text) => (json ? undefined : terminal.err(wrapHelp(text, columns()))),
      // Errors are printed in one place, once for people and programs.
      outputError: () => undefined,
    })
    .addHelpText('after', help);
  const named = Object.keys(commands).filter((name) => args.includes(name));
  const isNamed = named.length > 0 && !args.includes('help');
  const isVersion = args[0] === '--version' || args[0] === '-V';
  const added = isVersion ? [] : isNamed ? named : Object.keys(commands);
  for (const name of added) await commands[name]!(program, terminal);
  program
    .command('help')
    .description('print help for a command')
    .argument('[command...]')
    .action((path: string[]) => commandAt(program, path).help());
  return program;
}

/** Finds a command within commands. Commander's own help command cannot do that. */
function commandAt(program: Command, path: readonly string[]): Command {
  let command = program;
  for (const name of path) {
    const next = command.commands.find((child) => child.name() === name);
    if (!next) return command.error(`unknown command '${name}'`, { code: 'commander.unknownCommand' });
    command = next;
  }
  return command;
}

const help = `
Examples:
  wattline demo           run everything on a simulated site
  wattline config check   list all problems of wattline.yaml
  wattline up             run everything in one process
  wattline token create dashboard --workgroup home
  wattline status --json

Environment variables override the configuration: WATTLINE_DATA_DIR, WATTLINE_LOG_LEVEL, WATTLINE_HOST, WATTLINE_PORT, WATTLINE_STREAM_PORT,
WATTLINE_REPORT_PORT, WATTLINE_STREAM_LOG, WATTLINE_STREAM_REDIS_URL, WATTLINE_QUEUE_BACKEND, WATTLINE_REDIS_URL and WATTLINE_JWKS_FILE.
WATTLINE_DEBUG=1 or --log-level debug prints the stack of an error.
${exitCodesHelp}`;
