import { basename } from 'node:path';
import type { Command } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import type { Reason } from '../../import/guess-reasons.ts';
import type { Mapping } from '../../import/import-mapping.ts';
import { InputError, TerminalError } from '../../lib/errors.ts';
import { MINUTE_MS } from '../../lib/time.ts';
import type { WarehouseOwner } from '../../service/open-owner.ts';
import type { Service } from '../../service/service.ts';
import { printData, printNote } from '../terminal/output.ts';
import type { NamedFile } from './convert-workbooks.ts';
import type { ImportNews } from './import-news.ts';
import type { ImportedFile } from './import-run.ts';

interface ImportFilesRequest {
  workgroup: WorkgroupConfig;
  table: string;
  mapping: Mapping;
  threads: number;
}

/** Prints the mapping as a file, with the resulting rows as comments. */
export async function dryRunFiles(
  command: Command,
  { terminal, clock, signal }: Service,
  files: readonly NamedFile[],
  request: ImportFilesRequest,
  reasons: readonly Reason[] | undefined,
): Promise<void> {
  const { checkPackedFile } = await import('../../import/hash-and-check-file.ts');
  const { previewFile } = await import('../../import/preview-file.ts');
  const { addStats } = await import('../../import/field-stats.ts');
  const { describePreview } = await import('./import-view.ts');
  const { mappingText } = await import('./mapping-files.ts');
  const { describeNews, newsOfPreview } = await import('./import-news.ts');
  const previews: Array<Awaited<ReturnType<typeof previewFile>> & { path: string }> = [];
  for (const { path, shownPath } of files) {
    await checkPackedFile(path, signal);
    const preview = await previewFile({ ...request, path, storeTimeMs: clock.now() }, signal);
    previews.push({ path: shownPath, ...preview });
  }
  const stats = addStats(previews.map(({ fields }) => fields));
  const news = newsOfPreview(request.table, stats, request.workgroup);
  const data = { mapping: request.mapping, ...(reasons && { reasons }), files: previews, ...news };
  printData(command, terminal, data, (columnsMax) => {
    const heading = reasons
      ? '# This mapping is a guess. Save it as a file, correct it, and name it with --mapping.\n'
      : '';
    const rows = previews.map((one) => describePreview(one.path, one)).join('\n');
    const summary = `${rows.trimEnd()}\n${describeNews(news, columnsMax)}`.trimEnd();
    return `${heading}${mappingText(request.mapping, reasons)}\n${summary.replace(/^(?=.)/gm, '# ').replace(/^$/gm, '#')}\n`;
  });
  for (const warning of news.warnings) printNote(command, terminal, `WARNING: ${warning}`);
}

/** Imports files, and prints the outcome of each. @throws TerminalError if no row of a file can be used */
export async function importAll(
  command: Command,
  config: Config,
  service: Service,
  files: readonly NamedFile[],
  request: ImportFilesRequest,
): Promise<void> {
  const { terminal, signal } = service;
  const { workgroup, table, mapping } = request;
  const { openOwner } = await import('../../service/open-owner.ts');
  const { runImport } = await import('./import-run.ts');
  const { createProgressView, describeFile } = await import('./import-view.ts');
  const { describeNews } = await import('./import-news.ts');
  const view = createProgressView(terminal, () => performance.now());
  const done: ImportedFile[] = [];
  const startMs = performance.now();
  const owner = await openOwner(config, workgroup, service);
  let news: ImportNews | undefined;
  try {
    await runImport({ owner, files, table, mapping, signal, onProgress: view.show }, (file) => {
      view.clear();
      done.push(file);
    });
    news = await findNews(owner, done, request, service);
  } finally {
    view.clear();
    const seconds = Math.round((performance.now() - startMs) / 100) / 10;
    const shown = done.map(({ shownPath, outcome }) => ({ path: shownPath, outcome }));
    printData(command, terminal, { files: shown, seconds, ...news }, (columnsMax) => {
      const results = done.map(describeFile).join('');
      return news ? `${results}${describeNews(news, columnsMax)}` : results;
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
      `no row of ${unusable.map(({ shownPath }) => basename(shownPath)).join(', ')} can be used; see --dry-run and --mapping`,
    );
  }
}

/** Rows of a file that are examined to suggest energy streams. */
const SUGGESTION_ROWS = 100_000;
/** Ten million rows take some seconds, after the other work of the service. */
const SUMMARY_MS_MAX = 10 * MINUTE_MS;

/** The effect of the imported files. @returns undefined if there is none */
async function findNews(
  owner: WarehouseOwner,
  done: readonly ImportedFile[],
  request: ImportFilesRequest,
  { clock, signal }: Service,
): Promise<ImportNews | undefined> {
  const { workgroup, table } = request;
  const counted = done.filter(({ outcome }) => outcome.kind !== 'nothing-usable');
  const [first] = counted;
  if (!first) return undefined;
  const importIds = counted.flatMap(({ outcome }) => ('importId' in outcome ? [outcome.importId] : []));
  const { newsOfImport } = await import('./import-news.ts');
  const summary = await owner.ask(
    'importSummary',
    { importIds, table },
    { signal, withinMs: SUMMARY_MS_MAX },
  );
  return newsOfImport(summary, workgroup, async () => {
    const { previewFile } = await import('../../import/preview-file.ts');
    const rows = { ...request, path: first.path, storeTimeMs: clock.now(), rowsMax: SUGGESTION_ROWS };
    return (await previewFile(rows, signal)).fields;
  });
}

/** Checks that the columns of files fit the mapping. @throws InputError with the problems of all files */
export async function checkFiles(
  files: readonly NamedFile[],
  request: ImportFilesRequest,
  { clock }: Service,
): Promise<void> {
  const { openImport } = await import('../../import/open-import.ts');
  const { createNameTable } = await import('../../decode/name-table.ts');
  const problems: InputError[] = [];
  for (const { path } of files) {
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
        error.problems.map((problem) => ({
          ...problem,
          path: `${error.message.split(' has ')[0]} ${problem.path}`.trim(),
        })),
      ),
    );
  }
  if (first) throw first;
}
