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
import { chooseWorkgroup } from '../choose-workgroup.ts';
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
}

export function addMeterDataCommand(program: Command, terminal: Terminal): void {
  const group = program
    .command('meter-data')
    .description('readings of meters: upload files of them, and see what there is');
  const put = group
    .command('put')
    .description('upload readings: CSV (also .gz, .zst), NDJSON, JSON or Parquet');
  addPutOptions(put)
    .option('--timezone <zone>', 'of times that name no offset, such as Europe/Berlin')
    .option(
      '--interval <duration>',
      'how long intervals are, where only their starts or only their ends are given: 15m',
    )
    .addHelpText('after', meterHelp);
  addPutAction(put, terminal, 'meter-data');
  addListCommand(group, terminal, 'meter-data', 'show which readings there are');
}

export function addBudgetCommand(program: Command, terminal: Terminal): void {
  const group = program
    .command('budget')
    .description('energy that is expected of meters: upload files of it, and see what there is');
  const put = group
    .command('put')
    .description('upload budgets: CSV (also .gz, .zst), NDJSON, JSON or Parquet');
  addPutOptions(put)
    .option('--scenario <name>', 'P50, P90, contract, reforecast or any name, where no column says it')
    .option('--year <year>', 'of months that name no year')
    .addHelpText('after', budgetHelp);
  addPutAction(put, terminal, 'budget');
  addListCommand(group, terminal, 'budget', 'show which budgets there are');
}

function addPutOptions(command: Command): Command {
  return command
    .argument('<files...>', 'files, or patterns such as "export/*.csv"')
    .option('-w, --workgroup <id>', 'the workgroup of the meters; needed where there are several')
    .option('--dry-run', 'check the files and store nothing')
    .option('--again', 'let the same rows count again, where a later upload has replaced them')
    .option('--meter <code>', 'the meter, where no column says it')
    .option('--unit <unit>', 'of the energy, where neither a column nor its name says it: kWh')
    .option('--column <role=name...>', 'a column that is called otherwise, such as energy="E-Total"')
    .option('--delimiter <character>', 'what stands between the cells of CSV; found out by default')
    .option('--decimal <character>', '"." or ",", what stands before fractions; found out by default');
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
  const { describeChecked, describePut } = await import('./upload-view.ts');
  const workgroup = chooseWorkgroup(config, options.workgroup);
  const said = await saidOf(options);
  const files: Array<{ path: string; upload: Upload }> = [];
  const problems: Problem[] = [];
  for (const path of findFiles(named, terminal.cwd)) {
    try {
      const upload = await readUploadFile(resolve(terminal.cwd, path), {
        topic,
        meters: workgroup.meters,
        options: said,
      });
      files.push({ path, upload });
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      if (named.length === 1 && files.length === 0 && problems.length === 0 && !/[*?[{]/.test(named[0]!))
        throw error;
      problems.push(...error.problems.map((one) => ({ ...one, path: `${path}: ${one.path || 'file'}` })));
    }
  }
  if (problems.length > 0) throw new InputError('what is to be uploaded', problems);
  if (options.dryRun) {
    const checked = files.map(({ path, upload }) => ({ path, kind: upload.kind, rows: upload.rows }));
    return printData(command, terminal, { files: checked }, () => describeChecked(files, workgroup.timezone));
  }
  const { findOwner } = await import('../../service/find-owner.ts');
  const { putAll } = await import('./upload-run.ts');
  const owner = await findOwner(config, workgroup, service);
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

/** @throws InputError with everything that is wrong with the options */
async function saidOf(options: PutOptions): Promise<UploadOptions> {
  const { parseColumnOption, uploadOptionsSchema } = await import('../../upload/upload-options.ts');
  const { zodProblems } = await import('../../config/load-config.ts');
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
        message: `"${text}" is not such as energy=E-Total, with one of ${columnRoles.join(', ')} in front`,
      });
  }
  if (!parsed.success || problems.length > 0) throw new InputError('the command line', problems);
  return { ...parsed.data, columns };
}

function addListCommand(group: Command, terminal: Terminal, topic: UploadTopic, description: string): void {
  const command = group
    .command('list')
    .description(description)
    .option('-w, --workgroup <id>', 'the workgroup; needed where there are several')
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
A file is stored as a whole or not at all; a refusal lists the lines with what is wrong. The same rows again do nothing, and what a later file says
otherwise counts from then on, under the next revision; earlier rows are kept. While "wattline up" runs it stores them; otherwise this command
does, and publishes. Meters are those of the configuration:
  workgroups:
    - id: home
      meters: [{ code: GRID-1, direction: import }]
`;

const meterHelp = `
Readings are energy of intervals, or values of a register, whose growth counts:
  meter_code,interval_start,interval_end,energy_kwh          meter_code,time,value_kwh
  GRID-1,2026-05-17T13:00+02:00,2026-05-17T13:15+02:00,1.25  GRID-1,2026-05-17T00:00+02:00,120345.5

Optional columns: unit (Wh, kWh, MWh ...) and quality (measured, estimated, substituted). Times need an offset or --timezone.
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

The output of PVWatts, by months or by hours, and tables of months with their target are read as they are; what they do not say is said
by --meter, --year and --scenario.
${whole}
Examples:
  wattline budget put budget.csv
  wattline budget put pvwatts_monthly.csv --year 2026 --meter PV --scenario P50
  wattline budget put target.csv --column energy=Soll --unit kWh --meter PV --scenario contract --dry-run
  wattline budget list`;
