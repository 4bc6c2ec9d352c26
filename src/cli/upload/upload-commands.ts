import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { InputError, type Problem } from '../../lib/errors.ts';
import { inWords } from '../../lib/input-words.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import type { UploadTopic } from '../../upload/read-upload.ts';
import type { UploadOptions } from '../../upload/upload-options.ts';
import type { Upload } from '../../upload/upload-rows.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineErrors } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printData, printNote } from '../terminal/output.ts';
import type { PutFile } from './upload-run.ts';

interface PutOptions {
  workgroup?: string;
  dryRun?: boolean;
  again?: boolean;
  column?: string[];
  meter?: string;
  unit?: string;
  timezone?: string;
  interval?: string;
  scenario?: string;
  year?: string;
  delimiter?: string;
  decimal?: string;
  sheet?: string;
}

export function addMeterDataCommand(program: Command, terminal: Terminal): void {
  const group = program.command('meter-data').description('upload and list readings of meters');
  const put = group
    .command('put')
    .description('upload readings: CSV (also .gz, .zst), NDJSON, JSON, Parquet or XLSX');
  addPutOptions(put)
    .option('--timezone <zone>', 'the zone of times without an offset, such as Europe/Berlin')
    .option(
      '--interval <duration>',
      'the length of intervals, if only their starts or only their ends are given: 15m',
    )
    .addHelpText('after', meterHelp);
  addPutAction(put, terminal, 'meter-data');
  addListCommand(group, terminal, 'meter-data', 'list the uploaded readings');
}

export function addBudgetCommand(program: Command, terminal: Terminal): void {
  const group = program
    .command('budget')
    .description('upload and list budgets: the expected energy of meters');
  const put = group
    .command('put')
    .description('upload budgets: CSV (also .gz, .zst), NDJSON, JSON, Parquet or XLSX');
  addPutOptions(put)
    .option('--scenario <name>', 'P50, P90, contract, reforecast or any name, if no column names it')
    .option('--year <year>', 'the year of months without a year')
    .addHelpText('after', budgetHelp);
  addPutAction(put, terminal, 'budget');
  addListCommand(group, terminal, 'budget', 'list the uploaded budgets');
}

function addPutOptions(command: Command): Command {
  return command
    .argument('<files...>', 'files, or patterns such as "export/*.csv"')
    .option(...WORKGROUP_OPTION)
    .option('--dry-run', 'check the files, and store nothing')
    .option('--again', 'let rows count again that a later upload has replaced')
    .option('--meter <code>', 'the meter, if no column names it')
    .option('--unit <unit>', 'the unit of the energy, if neither a column nor its name has it: kWh')
    .option('--column <role=name...>', 'a column with another name, such as energy="E-Total"')
    .option('--delimiter <character>', 'the character between the cells of CSV (default: detected)')
    .option('--decimal <character>', '"." or ",", the character before fractions (default: detected)')
    .option('--sheet <name>', 'the sheet of XLSX files (default: the first visible one with rows)');
}

function addPutAction(command: Command, terminal: Terminal, topic: UploadTopic): void {
  command.action((files: string[], options: PutOptions) =>
    runTask(command, terminal, (config, service) => put(command, config, service, topic, files, options)),
  );
}

async function put(
  command: Command,
  config: Config,
  service: Service,
  topic: UploadTopic,
  named: readonly string[],
  options: PutOptions,
): Promise<void> {
  const { terminal } = service;
  const { findFiles } = await import('../import/mapping-files.ts');
  const { readUploadFile } = await import('../../upload/read-file.ts');
  const { requireWorkbook } = await import('../../foreign-table/read-workbook.ts');
  const { describeChecked, describePut } = await import('./upload-view.ts');
  const workgroup = chooseWorkgroup(config, options.workgroup);
  const uploadOptions = await parseOptions(options);
  const files: Array<{ path: string; upload: Upload }> = [];
  const problems: Problem[] = [];
  const paths = findFiles(named, terminal.cwd);
  const { sheet } = options;
  if (sheet !== undefined) requireWorkbook(paths);
  const workbook = { sheet, onNote: (note: string) => printNote(command, terminal, note) };
  for (const path of paths) {
    try {
      const request = { topic, meters: workgroup.meters, options: uploadOptions };
      const upload = await readUploadFile(resolve(terminal.cwd, path), request, workbook);
      files.push({ path, upload });
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      if (named.length === 1 && files.length === 0 && problems.length === 0 && !/[*?[{]/.test(named[0]!))
        throw error;
      problems.push(...error.problems.map((one) => ({ ...one, path: `${path}: ${one.path || 'file'}` })));
    }
  }
  if (problems.length > 0) throw new InputError('the upload', problems);
  if (options.dryRun) {
    const checked = files.map(({ path, upload }) => ({ path, kind: upload.kind, rows: upload.rows }));
    return printData(command, terminal, { files: checked }, () => describeChecked(files, workgroup.timezone));
  }
  const { openOwner } = await import('../../service/open-owner.ts');
  const { putAll } = await import('./upload-run.ts');
  const owner = await openOwner(config, workgroup, service);
  const stored: PutFile[] = [];
  try {
    const { dataDir } = config;
    const { again = false } = options;
    await putAll(files, { owner, dataDir, again, ...service }, (file) => stored.push(file));
  } finally {
    if (stored.length > 0)
      printData(command, terminal, { files: stored }, (_, shown) => describePut(shown.files));
    await owner.close();
  }
  if (owner.isService) printNote(command, terminal, 'the service publishes it within seconds');
}

/** @throws InputError with all problems of the options */
async function parseOptions(options: PutOptions): Promise<UploadOptions> {
  const { parseColumnOption, uploadOptionsSchema } = await import('../../upload/upload-options.ts');
  const { zodProblems } = await import('../../config/zod-problems.ts');
  const { columnRoles } = await import('../../upload/find-columns.ts');
  const parsed = uploadOptionsSchema.safeParse(options, inWords);
  const problems = parsed.success
    ? []
    : zodProblems(parsed.error).map((one) => ({ ...one, path: `--${one.path}` }));
  const columns: NonNullable<UploadOptions['columns']> = {};
  for (const text of options.column ?? []) {
    const column = parseColumnOption(text);
    if (column) columns[column[0]] = column[1];
    else
      problems.push({
        path: '--column',
        message: `"${text}" must be <role>=<column>, such as energy=E-Total; roles are ${columnRoles.join(', ')}`,
      });
  }
  if (!parsed.success || problems.length > 0) throw commandLineErrors(problems);
  return { ...parsed.data, columns };
}

function addListCommand(group: Command, terminal: Terminal, topic: UploadTopic, description: string): void {
  const command = group
    .command('list')
    .description(description)
    .option(...WORKGROUP_OPTION)
    .action(({ workgroup: id }: { workgroup?: string }) =>
      runTask(command, terminal, async (config, service) => {
        const { listAll } = await import('./upload-run.ts');
        const { describeBudgets, describeMeters } = await import('./upload-view.ts');
        const workgroup = chooseWorkgroup(config, id);
        const { budgets, meters } = await listAll(config, workgroup, service);
        if (topic === 'budget')
          printData(command, terminal, budgets, (columnsMax, shown) => describeBudgets(shown, columnsMax));
        else
          printData(command, terminal, meters, (columnsMax, shown) =>
            describeMeters(shown, workgroup, columnsMax),
          );
      }),
    );
}

const whole = `
A file is stored as a whole or not at all. If it is refused, all wrong lines are listed. Uploading the same rows again changes nothing. If a
later file has other values, the new values count, with the next revision. Earlier rows are kept. If "wattline up" runs, the service stores
the file. Otherwise this command does it, and publishes. The meters are configured:
  workgroups:
    - id: home
      meters: [{ code: GRID-1, direction: import }]
`;

const meterHelp = `
Readings are the energy of intervals, or the values of a register:
  meter_code,interval_start,interval_end,energy_kwh          meter_code,time,value_kwh
  GRID-1,2026-05-17T13:00+02:00,2026-05-17T13:15+02:00,1.25  GRID-1,2026-05-17T00:00+02:00,120345.5

Optional columns: unit (Wh, kWh, MWh ...) and quality (measured, estimated, substituted). Times need an offset, or the option --timezone.
${whole}
Examples:
  wattline meter-data put may.csv
  wattline meter-data put "export/*.csv" --meter GRID-1 --timezone Europe/Berlin --interval 15m --column start=Zeit energy="Bezug (kWh)"
  wattline meter-data put registers.ndjson --dry-run
  wattline meter-data list --json`;

const budgetHelp = `
A period is a year (2026), a month (2026-05), a day (2026-05-17), or from period_start to period_end, both included:
  meter_code,period,energy_kwh,scenario
  PV,2026-05,1250,P50

Monthly and hourly output of PVWatts, and tables of months with a target, are read as they are. Use --meter, --year and --scenario for facts that
the file does not contain.
${whole}
Examples:
  wattline budget put budget.csv
  wattline budget put pvwatts_monthly.csv --year 2026 --meter PV --scenario P50
  wattline budget put target.csv --column energy=Soll --unit kWh --meter PV --scenario contract --dry-run
  wattline budget list`;
