import type { Command } from 'commander';
import { createAudit } from '../../audit/audit.ts';
import { localActor } from '../../audit/local-actor.ts';
import type { Config } from '../../config/config.ts';
import type { Exports } from '../../exports/create-exports.ts';
import type { ExportPeriod } from '../../exports/export-period.ts';
import { keepFilesPrivate } from '../../lib/private-files.ts';
import { openExports } from '../../service/open-exports.ts';
import { requireDataDir } from '../../service/require-data-dir.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { commandLineError } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printData, printNote } from '../terminal/output.ts';
import { describeExports, describeRun, listedExports } from './exports-view.ts';

interface RunOptions {
  period?: string;
  corrected?: boolean;
}

export function addExportsCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('exports')
    .description('list and run exports: reports that are written to files by a schedule')
    .addHelpText('after', help);
  command
    .command('list')
    .description('list the exports with their next run, their state, and files that are outdated')
    .addHelpText('after', listHelp)
    .action((_options: object, list: Command) =>
      runTask(list, terminal, (config, service) =>
        withExports(config, service, async (exports) => {
          const listed = await listedExports(exports, service.clock.now());
          printData(list, terminal, listed, (columnsMax) => describeExports(listed, columnsMax));
          if (listed.length === 0) printNote(list, terminal, 'no exports are configured');
        }),
      ),
    );
  command
    .command('run')
    .description('write and deliver a file now, unless it was already delivered')
    .argument('<id>', 'the export')
    .option(
      '-p, --period <period>',
      'a day, a month, a year, or <first>_to_<last> day (default: the period of its range)',
    )
    .option('--corrected', 'deliver the period again as a new revision, named ..._r2 and so on')
    .addHelpText('after', runHelp)
    .action((id: string, options: RunOptions, run: Command) =>
      runTask(run, terminal, (config, service) =>
        withExports(config, service, async (exports) => {
          const period = await periodOf(options.period);
          const corrected = options.corrected ?? false;
          const done = await exports.run(id, { ...(period && { period }), corrected }, service.signal);
          printData(run, terminal, { ...done.run, already: done.kind === 'already-delivered' }, () =>
            describeRun(done.run),
          );
          if (done.kind === 'already-delivered')
            printNote(run, terminal, 'already delivered, nothing to do; --corrected makes a new revision');
        }),
      ),
    );
  command
    .command('show')
    .description('show the runs of an export, or of one of its periods')
    .argument('<id>', 'the export')
    .option('-p, --period <period>', 'only the revisions of this period, with later changes by day')
    .addHelpText('after', showHelp)
    .action((id: string, options: Pick<RunOptions, 'period'>, show: Command) =>
      runTask(show, terminal, (config, service) =>
        withExports(config, service, async (exports) => {
          const period = await periodOf(options.period);
          const { ledger } = exports.open(id);
          const runs = await (period ? ledger.runsOf(period.name) : ledger.runs());
          if (period && runs.length === 0)
            throw commandLineError(
              '--period',
              `export ${id} has no run of ${period.name}; see "wattline exports show ${id}"`,
            );
          const { describeRuns } = await import('./exports-view.ts');
          printData(show, terminal, runs, () =>
            period ? runs.map(describeRun).join('\n') : describeRuns(runs),
          );
          if (runs.length === 0) printNote(show, terminal, 'this export has not run yet');
        }),
      ),
    );
}

/** Opens the parts that exports need, without a service. */
async function withExports(
  config: Config,
  { clock, logger }: Service,
  work: (exports: Exports) => Promise<void>,
): Promise<void> {
  keepFilesPrivate(config.dataReaders);
  requireDataDir(config.dataDir, config.dataReaders);
  const audit = createAudit({ dataDir: config.dataDir, actor: localActor(), clock });
  const { exports, close } = await openExports(config, { audit, clock, logger });
  try {
    await work(exports);
  } finally {
    await close();
  }
}

async function periodOf(text: string | undefined): Promise<ExportPeriod | undefined> {
  if (text === undefined) return undefined;
  const { parsePeriod } = await import('../../exports/export-period.ts');
  const period = parsePeriod(text);
  if (period) return period;
  throw commandLineError(
    '--period',
    `"${text}" is not a day (2026-11-20), month (2026-11), year (2026) or range of days (2026-11-14_to_2026-11-20)`,
  );
}

const help = `
An export writes a report to a file by a schedule, and delivers it to a folder, S3, a webhook, e-mail or Home Assistant, once for each period. Files that cannot
be delivered wait in the data folder, below exports/<id>/outbox, or in the bucket of storage.s3, and are tried again.`;

const listHelp = `
"Outdated" counts the files whose data has changed since their delivery, and shows the difference in energy. "wattline exports show <id>" lists them.

Examples:
  wattline exports list
  wattline exports list --json | jq '.[] | select(.outdated > 0) | .id'`;

const runHelp = `
The command works with and without a running service. The period must have ended.

Examples:
  wattline exports run billing
  wattline exports run billing --period 2026-10
  wattline exports run billing --period 2026-10 --corrected`;

const showHelp = `
Examples:
  wattline exports show billing
  wattline exports show billing --period 2026-10
  wattline exports show billing --json | jq '.[] | select(.outdated) | .period'`;
