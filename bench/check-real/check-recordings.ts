import { resolve } from 'node:path';
import { Command } from 'commander';
import { replayCases } from '../../src/cli/replay/replay-cases.ts';
import { runWithoutConfig } from '../../src/cli/run-service.ts';
import { exitCodeOf, exitCodes } from '../../src/cli/terminal/exit-codes.ts';
import { printData, printNote } from '../../src/cli/terminal/output.ts';
import { printError } from '../../src/cli/terminal/print-error.ts';
import type { Terminal } from '../../src/service/terminal.ts';
import { type CheckedCase, checkCase } from './check.ts';
import { readRecordings } from './recordings.ts';
import { describeChecked } from './view.ts';

const help = `
Below the folder (or in it), each folder with case.json and readings.csv.gz is a case, as "wattline replay" takes it. Beside them expected.csv
says what is known of its days: day, device_id, source, energy_wh, tolerance_wh. Days that are not in it are counted as extra; a case without
the file is shown, not compared. Nothing is kept.

Exit codes: 0 every case matches, 1 one does not, 2 the folder cannot be used.`;

/**
 * Replays the recordings that the command line names, and prints which of their days match.
 * @returns the exit code
 */
export async function checkRecordings(args: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = exitCodes.done;
  const command = new Command('check:real')
    .description(
      'replay recordings through the whole pipeline and compare the energy with what is known of it',
    )
    .argument('<folder>', 'a folder with a folder for each case, or one case')
    .option('--json', 'print the result as JSON')
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err, outputError: () => undefined })
    .addHelpText('after', help)
    .action(async (folder: string) => {
      const checked = await checkFolder(resolve(terminal.cwd, folder), command, terminal);
      if (checked.some(({ verdict }) => verdict === 'differs')) code = exitCodes.failed;
    });
  try {
    await command.parseAsync(args, { from: 'user' });
  } catch (error) {
    code = exitCodeOf(error);
    const isHelp = error instanceof Error && 'exitCode' in error && error.exitCode === 0;
    if (!isHelp) printError(error, terminal, { json: args.includes('--json'), debug: false });
  }
  return code;
}

async function checkFolder(folder: string, command: Command, terminal: Terminal): Promise<CheckedCase[]> {
  const recordings = await readRecordings(folder);
  const checked: CheckedCase[] = [];
  await runWithoutConfig(command, terminal, async (service) => {
    const cases = recordings.map(({ replay }) => replay);
    await replayCases(cases, service, async (name, result, explain) => {
      const { expected } = recordings.find(({ replay }) => replay.name === name)!;
      checked.push(await checkCase({ name, expected, result, explain }));
      printNote(command, terminal, `replayed ${name} in ${result.seconds.toFixed(1)} s`);
    });
  });
  printData(command, terminal, { cases: checked }, () => describeChecked(checked));
  return checked;
}
