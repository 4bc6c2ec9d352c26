import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { tableNameSchema } from '../../contract/messages.ts';
import type { Reason } from '../../import/guess-reasons.ts';
import type { Mapping } from '../../import/import-mapping.ts';
import { InputError, TerminalError } from '../../lib/errors.ts';
import { MINUTE_MS } from '../../lib/time.ts';
import type { WarehouseOwner } from '../../service/find-owner.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printData, printNote } from '../terminal/output.ts';
import type { ImportNews } from './import-news.ts';
import type { ImportedFile } from './import-run.ts';

interface ImportCommandOptions {
  workgroup?: string;
  table: string;
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
    .requiredOption('-t, --table <name>', 'the table of the messages, which energy streams read')
    .option(
      '-m, --mapping <file>',
      'a YAML file with the meaning of the columns (default: guessed and printed)',
    )
    .option('--sheet <name>', 'the sheet of XLSX files (default: the first one with rows)')
    .option('--dry-run', 'show what would be imported, and import nothing')
    .addHelpText('after', help)
    .action((files: string[], options: ImportCommandOptions) =>
      runTask(command, terminal, (config, service) => runCommand(command, config, service, files, options)),
    );
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
  const workgroup = chooseWorkgroup(config, options.workgroup);
  const table = tableNameSchema.safeParse(options.table);
  if (!table.success) throw commandLineError('--table', table.error.issues[0]!.message);
  const found = findFiles(named, terminal.cwd);
  const { withoutWorkbooks } = await import('./convert-workbooks.ts');
  const onNote = (note: string) => printNote(command, terminal, note);
  await withoutWorkbooks(found, { service, sheet: options.sheet, onNote }, (files) =>
    importFiles(command, config, service, files, { workgroup, options }),
  );
}

async function importFiles(
  command: Command,
  config: Config,
  service: Service,
  files: readonly string[],
  { workgroup, options }: { workgroup: WorkgroupConfig; options: ImportCommandOptions },
): Promise<void> {
  const { terminal } = service;
  const { guessFor, mappingText, readMapping } = await import('./mapping-files.ts');
  const isGuess = options.mapping === undefined;
  const { mapping, reasons } = isGuess
    ? await guessFor(files[0]!, workgroup, options.table)
    : { mapping: readMapping(resolve(terminal.cwd, options.mapping!)), reasons: [] };
  if (isGuess && !options.dryRun) {
    printNote(command, terminal, `the columns are read as\n${mappingText(mapping, reasons)}`);
  }
  const request = { workgroup, table: options.table, mapping, threads: config.pipeline.threads };
  await checkFiles(files, request, service);
  if (options.dryRun) await dryRun(command, service, files, request, isGuess ? reasons : undefined);
  else await importAll(command, config, service, files, request);
}

interface Request {
  workgroup: WorkgroupConfig;
  table: string;
  mapping: Mapping;
  threads: number;
}

/** Prints the mapping as a file, with the resulting rows as comments. */
async function dryRun(
  command: Command,
  { terminal, clock, signal }: Service,
  files: readonly string[],
  request: Request,
  reasons: readonly Reason[] | undefined,
): Promise<void> {
  const { checkWhole } = await import('../../import/content-hash.ts');
  const { previewFile } = await import('../../import/preview-file.ts');
  const { addStats } = await import('../../import/field-stats.ts');
  const { describePreview } = await import('./import-view.ts');
  const { mappingText } = await import('./mapping-files.ts');
  const { describeNews, newsOfPreview } = await import('./import-news.ts');
  const previews: Array<Awaited<ReturnType<typeof previewFile>> & { path: string }> = [];
  for (const path of files) {
    await checkWhole(path, signal);
    const preview = await previewFile({ ...request, path, storeTimeMs: clock.now() }, signal);
    previews.push({ path, ...preview });
  }
  const stats = addStats(previews.map(({ fields }) => fields));
  const news = newsOfPreview(request.table, stats, request.workgroup);
  const data = { mapping: request.mapping, ...(reasons && { reasons }), files: previews, ...news };
  printData(command, terminal, data, (columnsMax) => {
    const heading = reasons
      ? '# This mapping is a guess. Save it as a file, correct it, and name it with --mapping.\n'
      : '';
    const rows = previews.map((one) => describePreview(one.path, one)).join('\n');
    const told = `${rows.trimEnd()}\n${describeNews(news, columnsMax)}`.trimEnd();
    return `${heading}${mappingText(request.mapping, reasons)}\n${told.replace(/^(?=.)/gm, '# ').replace(/^$/gm, '#')}\n`;
  });
  for (const warning of news.warnings) printNote(command, terminal, `WARNING: ${warning}`);
}

async function importAll(
  command: Command,
  config: Config,
  service: Service,
  files: readonly string[],
  request: Request,
): Promise<void> {
  const { terminal, signal } = service;
  const { workgroup, table, mapping } = request;
  const { findOwner } = await import('../../service/find-owner.ts');
  const { runImport } = await import('./import-run.ts');
  const { createProgressView, describeFile } = await import('./import-view.ts');
  const { describeNews } = await import('./import-news.ts');
  const view = createProgressView(terminal, () => performance.now());
  const done: Parameters<typeof describeFile>[0][] = [];
  const startMs = performance.now();
  const owner = await findOwner(config, workgroup, service);
  let news: ImportNews | undefined;
  try {
    await runImport({ owner, files, table, mapping, signal, onProgress: view.show }, (file) => {
      view.clear();
      done.push(file);
    });
    news = await newsOf(owner, done, request, service);
  } finally {
    view.clear();
    const seconds = Math.round((performance.now() - startMs) / 100) / 10;
    printData(command, terminal, { files: done, seconds, ...news }, (columnsMax) => {
      const files = done.map(describeFile).join('');
      return news ? `${files}${describeNews(news, columnsMax)}` : files;
    });
    await owner.close();
  }
  for (const warning of news?.warnings ?? []) printNote(command, terminal, `WARNING: ${warning}`);
  const unusable = done.filter(
    ({ outcome }) => outcome.kind === 'nothing-usable' && outcome.counts.rowsRejected > 0,
  );
  if (unusable.length > 0) {
    throw new TerminalError(
      'NothingUsable',
      `no row of ${unusable.map(({ path }) => path).join(', ')} can be used; see --dry-run and --mapping`,
    );
  }
}

/** Rows of a file that are examined to suggest energy streams. */
const SUGGESTION_ROWS = 100_000;
/** Ten million rows take some seconds, after the other work of the service. */
const SUMMARY_MS_MAX = 10 * MINUTE_MS;

/** The effect of the imported files. @returns undefined if there is none */
async function newsOf(
  owner: WarehouseOwner,
  done: readonly ImportedFile[],
  request: Request,
  { clock, signal }: Service,
): Promise<ImportNews | undefined> {
  const { workgroup, table } = request;
  const counted = done.filter(({ outcome }) => outcome.kind !== 'nothing-usable');
  const importIds = counted.flatMap(({ outcome }) => ('importId' in outcome ? [outcome.importId] : []));
  if (importIds.length === 0) return undefined;
  const { newsOfImport } = await import('./import-news.ts');
  const summary = await owner.ask(
    'importSummary',
    { importIds, table },
    { signal, withinMs: SUMMARY_MS_MAX },
  );
  const isRead = summary.fields.some(({ streams }) => streams.length > 0);
  if (isRead) return newsOfImport(summary, workgroup, []);
  const { previewFile } = await import('../../import/preview-file.ts');
  const [{ path }] = counted as [ImportedFile];
  const rows = { ...request, path, storeTimeMs: clock.now(), rowsMax: SUGGESTION_ROWS };
  return newsOfImport(summary, workgroup, (await previewFile(rows, signal)).fields);
}

/** @throws InputError with all conflicts between files and mapping */
async function checkFiles(files: readonly string[], request: Request, { clock }: Service): Promise<void> {
  const { openImport } = await import('../../import/open-import.ts');
  const { createNameTable } = await import('../../decode/name-table.ts');
  const problems: InputError[] = [];
  for (const path of files) {
    try {
      const options = {
        ...request,
        path,
        names: createNameTable(),
        baseOffset: 0n,
        storeTimeMs: clock.now(),
      };
      (await openImport(options)).close();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(error);
    }
  }
  const [first] = problems;
  if (problems.length > 1) {
    throw new InputError(
      'the import',
      problems.flatMap((error) =>
        error.problems.map((one) => ({
          ...one,
          path: `${error.message.split(' has ')[0]} ${one.path}`.trim(),
        })),
      ),
    );
  }
  if (first) throw first;
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
