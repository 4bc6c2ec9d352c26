import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { tableNameSchema } from '../../contract/messages.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printNote } from '../terminal/output.ts';
import type { NamedFile } from './convert-workbooks.ts';
import { checkFiles, dryRunFiles, importAll } from './import-files.ts';
import { addHomeAssistantImport } from './import-home-assistant.ts';

interface ImportCommandOptions {
  workgroup?: string;
  table?: string;
  mapping?: string;
  dryRun?: boolean;
  sheet?: string;
}

export function addImportCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('import')
    .description('import files of other systems: CSV, NDJSON, JSON arrays (also .gz, .zst), XLSX or Parquet')
    .argument('<files...>', 'files, or patterns such as "export/*.csv"')
    .option(...WORKGROUP_OPTION)
    .option('-t, --table <name>', 'the table of the messages, which energy streams read')
    .option(
      '-m, --mapping <file>',
      'a YAML file with the meaning of the columns (default: guessed and printed)',
    )
    .option('--sheet <name>', 'the sheet of XLSX files (default: the first visible one with rows)')
    .option('--dry-run', 'show what would be imported, and import nothing')
    .addHelpText('after', help)
    .action((files: string[], options: ImportCommandOptions) =>
      runTask(command, terminal, (config, service) => runCommand(command, config, service, files, options)),
    );
  command.helpCommand(false);
  addHomeAssistantImport(command, terminal);
}

async function runCommand(
  command: Command,
  config: Config,
  service: Service,
  named: readonly string[],
  options: ImportCommandOptions,
): Promise<void> {
  const { terminal } = service;
  const { findFiles } = await import('./mapping-files.ts');
  if (options.table === undefined) throw commandLineError('--table', 'is needed: the table of the messages');
  const workgroup = chooseWorkgroup(config, options.workgroup);
  const table = tableNameSchema.safeParse(options.table);
  if (!table.success) throw commandLineError('--table', table.error.issues[0]!.message);
  const found = findFiles(named, terminal.cwd);
  const { withoutWorkbooks } = await import('./convert-workbooks.ts');
  const onNote = (note: string) => printNote(command, terminal, note);
  await withoutWorkbooks(found, { service, sheet: options.sheet, onNote }, (files) =>
    importFiles(command, config, service, files, { workgroup, options: { ...options, table: table.data } }),
  );
}

async function importFiles(
  command: Command,
  config: Config,
  service: Service,
  files: readonly NamedFile[],
  { workgroup, options }: { workgroup: WorkgroupConfig; options: ImportCommandOptions & { table: string } },
): Promise<void> {
  const { terminal } = service;
  const { guessFor, mappingText, readMapping } = await import('./mapping-files.ts');
  const isGuess = options.mapping === undefined;
  const { mapping, reasons } = isGuess
    ? await guessFor(files[0]!.path, workgroup, options.table)
    : { mapping: readMapping(resolve(terminal.cwd, options.mapping!)), reasons: [] };
  if (isGuess && !options.dryRun) {
    printNote(command, terminal, `the columns are read as\n${mappingText(mapping, reasons)}`);
  }
  const request = { workgroup, table: options.table, mapping, threads: config.pipeline.warehouseThreads };
  await checkFiles(files, request, service);
  if (options.dryRun) await dryRunFiles(command, service, files, request, isGuess ? reasons : undefined);
  else await importAll(command, config, service, files, request);
}

const help = `
A file is imported as a whole or not at all. After Ctrl-C, a crash or a power cut, run the same command again to continue. Files that are
already imported are skipped. The same readings in another file change no energy. If "wattline up" runs, the service does the work. Otherwise
this command does it, rolls up and publishes. Rows that cannot be used go to the quarantine and are counted by reason.

At the end the command shows which energy stream reads each field, how many readings were accepted and rejected, and the energy of the
imported devices by month and source. If no energy stream reads a field, there is no energy, and a warning suggests lines for energyStreams in the
configuration. A dry run shows the same without energy. "wattline status" shows the newest imports.

An XLSX workbook is read as the table of one sheet. Dates of its cells are times without a zone, and numbers have a decimal point. Formulas have
the value that was saved last.

A mapping file:
  time: { column: Zeit, format: "%d.%m.%Y %H:%M", zone: Europe/Berlin }
                                   format: iso (default), seconds, milliseconds ... since 1970, or a pattern; zone: for times without a zone
                                   (default: the workgroup's zone); column: [Date, Time] if there are two columns
  device: { column: Serial, names: { SN-1: 7c9e6679-7425-40de-944b-e07fc1f90ae7 }, unknown: reject }
                                   names are searched here and in the configuration; unknown: derive creates UUIDs from unknown names;
                                   { id: garage } if the whole file has one device
  source: { column: Channel }      or { name: roof }
  fields: { "E-Total(kWh)": total_kwh, Pac: power_w }
                                   members of objects (JSON) and structures (Parquet) by path: /data/total
  long: { field: parameter, value: value, names: { P_AC: power_w } }    instead of fields, if each row has one value
  decimal: ","                     thousands: "."
  nullTexts: ["", "-", "-999"]     texts that mean no value
  csv: { delimiter: ";", header: true, skipLines: 3, encoding: latin-1 }  default: detected

Examples:
  wattline import export.csv --workgroup home --table solar --dry-run > mapping.yaml
  wattline import "export/*.csv.gz" --workgroup home --table solar --mapping mapping.yaml
  wattline import years.parquet --workgroup home --table solar --json
  wattline import report.xlsx --sheet Data --workgroup home --table solar --dry-run`;
