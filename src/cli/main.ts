import { Command, CommanderError, Option } from 'commander';
import type { Terminal } from '../service/terminal.ts';
import { addBackfillCommand } from './backfill/backfill-command.ts';
import { addBackupCommand } from './backup/backup-command.ts';
import { addRestoreCommand } from './backup/restore-command.ts';
import { addVerifyCommand } from './backup/verify-command.ts';
import { addChangesCommand } from './changes/changes-command.ts';
import { addConfigCommand } from './config/config-command.ts';
import { addConformanceCommand } from './conformance/conformance-command.ts';
import { addCorrectCommand } from './correct/correct-command.ts';
import { addDemoCommand } from './demo/demo-command.ts';
import { addExplainCommand } from './explain/explain-command.ts';
import { addExportsCommand } from './exports/exports-command.ts';
import { addImportCommand } from './import/import-command.ts';
import { addReloadCommand } from './reload/reload-command.ts';
import { addReplayCommand } from './replay/replay-command.ts';
import { addReportCommand } from './report/report-command.ts';
import { addRetryCommand } from './retry/retry-command.ts';
import { addStatusCommand } from './status/status-command.ts';
import { addStreamCommand } from './stream/stream-command.ts';
import { exitCodeOf, exitCodes, exitCodesHelp } from './terminal/exit-codes.ts';
import { printError } from './terminal/print-error.ts';
import { fromSystemError } from './terminal/system-error.ts';
import { wrapHelp } from './terminal/wrap-help.ts';
import { addTokenCommand } from './token/token-command.ts';
import { addUpCommand } from './up/up-command.ts';
import { addBudgetCommand, addMeterDataCommand } from './upload/upload-commands.ts';
import { addVersionCommand, version } from './version/version-command.ts';
import { addWorkerCommand } from './worker/worker-command.ts';

/**
 * Runs the command that the arguments name.
 * @param args without the program's name
 * @returns the exit code; errors have been printed
 */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  // These options are searched by hand, because parsing the command line may fail.
  const json = args.includes('--json');
  const program = createProgram(terminal, { json });
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

/** Commands import their parts when they run, so commands without an engine or a server start fast. */
function createProgram(terminal: Terminal, { json }: { json: boolean }): Command {
  const program = new Command('wattline');
  const columns = () => program.configureOutput().getOutHelpWidth?.() ?? 80;
  program
    .description('Turns a real-time telemetry stream into daily energy.')
    .version(version, '-V, --version', 'print the version')
    .option('-c, --config <file>', 'the configuration file (default: wattline.yaml, if it exists)')
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
  addUpCommand(program, terminal);
  addStreamCommand(program, terminal);
  addWorkerCommand(program, terminal);
  addReportCommand(program, terminal);
  addReloadCommand(program, terminal);
  addStatusCommand(program, terminal);
  addExplainCommand(program, terminal);
  addChangesCommand(program, terminal);
  addCorrectCommand(program, terminal);
  addRetryCommand(program, terminal);
  addTokenCommand(program, terminal);
  addConfigCommand(program, terminal);
  addImportCommand(program, terminal);
  addBackfillCommand(program, terminal);
  addMeterDataCommand(program, terminal);
  addBudgetCommand(program, terminal);
  addExportsCommand(program, terminal);
  addBackupCommand(program, terminal);
  addRestoreCommand(program, terminal);
  addVerifyCommand(program, terminal);
  addReplayCommand(program, terminal);
  addConformanceCommand(program, terminal);
  addDemoCommand(program, terminal);
  addVersionCommand(program, terminal);
  program
    .command('help')
    .description('print help for a command')
    .argument('[command...]')
    .action((path: string[]) => commandAt(program, path).help());
  return program;
}

/** Finds a command within commands. Commander's own help command cannot do that. */
function commandAt(program: Command, path: readonly string[]): Command {
  let found = program;
  for (const name of path) {
    const next = found.commands.find((command) => command.name() === name);
    if (!next) return found.error(`unknown command '${name}'`, { code: 'commander.unknownCommand' });
    found = next;
  }
  return found;
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
