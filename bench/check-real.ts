// Replays recordings of real meters and compares the energy with what is known of it: npm run check:real -- <folder>
import { resolve } from 'node:path';
import { Command } from 'commander';
import { replayCases } from '../src/cli/replay/replay-cases.ts';
import { runWithoutConfig } from '../src/cli/run-service.ts';
import { exitCodeOf, exitCodes } from '../src/cli/terminal/exit-codes.ts';
import { printData, printNote } from '../src/cli/terminal/output.ts';
import { printError } from '../src/cli/terminal/print-error.ts';
import { createTerminal, type Terminal } from '../src/service/terminal.ts';
import { type CheckedCase, checkCase } from './check-real/check.ts';
import { readRecordings } from './check-real/recordings.ts';
import { describeChecked } from './check-real/view.ts';

const help = `
Below the folder (or in it), each folder with case.json and readings.csv.gz is a case, as "wattline replay" takes it. Beside them expected.csv
says what is known of its days: day, device_id, source, energy_wh, tolerance_wh. Days that are not in it are counted as extra; a case without
the file is shown, not compared. Nothing is kept.

Exit codes: 0 every case matches, 1 one does not, 2 the folder cannot be used.`;

const terminal = createTerminal(process);
const command = new Command('check:real')
  .description('replay recordings through the whole pipeline and compare the energy with what is known of it')
  .argument('<folder>', 'a folder with a folder for each case, or one case')
  .option('--json', 'print the result as JSON')
  .exitOverride()
  .configureOutput({ writeOut: terminal.out, writeErr: terminal.err, outputError: () => undefined })
  .addHelpText('after', help)
  .action((folder: string) => checkReal(resolve(terminal.cwd, folder), command, terminal));
try {
  await command.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
  const isHelp = error instanceof Error && 'exitCode' in error && error.exitCode === 0;
  if (!isHelp) printError(error, terminal, { json: process.argv.includes('--json'), debug: false });
}

async function checkReal(folder: string, command: Command, terminal: Terminal): Promise<void> {
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
  if (checked.some(({ verdict }) => verdict === 'differs')) process.exitCode = exitCodes.failed;
}
