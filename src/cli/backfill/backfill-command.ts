import { type Command, InvalidArgumentError, Option } from 'commander';
import { type BackfillRequest, RATE_DEFAULT } from '../../backfill/backfill-request.ts';
import { makeBackfillRequest } from '../../backfill/make-backfill-request.ts';
import type { WorkgroupConfig } from '../../config/config.ts';
import { TerminalError } from '../../lib/errors.ts';
import type { WarehouseOwner } from '../../service/open-owner.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineErrors } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printData } from '../terminal/output.ts';

interface BackfillCommandOptions {
  workgroup?: string;
  from?: string;
  to?: string;
  table?: string;
  source: 'stream' | 'archive' | 'files';
  gaps?: boolean;
  messagesPerSecond: number;
  dryRun?: boolean;
}

export function addBackfillCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('backfill')
    .description('read past messages again, from the upstream or from the lake')
    .option(...WORKGROUP_OPTION)
    .option(
      '-f, --from <time>',
      "the start: a day in the workgroup's zone, an ISO time with a zone, or milliseconds",
    )
    .option('--to <time>', 'the end, not included (default: the newest message)')
    .option('-t, --table <name>', 'only this table')
    .addOption(
      new Option('-s, --source <source>', 'where to read from')
        .choices(['stream', 'archive', 'files'])
        .default('stream'),
    )
    .option('--gaps', 'instead of a time: all gaps that the upstream can still fill')
    .option('--messages-per-second <n>', 'the speed while the live reader runs', positive, RATE_DEFAULT)
    .option('--dry-run', 'show what would be read, and read nothing')
    .addHelpText('after', help)
    .action((options: BackfillCommandOptions) =>
      withOwner(command, terminal, options, async ({ owner, workgroup, service }) => {
        const request = requestOf(options, workgroup);
        const { describePlan } = await import('./backfill-view.ts');
        if (options.dryRun) {
          const plan = await owner.ask('backfillPlan', { request });
          printData(command, terminal, plan, (_, shown) => describePlan(shown));
        } else await runAndPrint(command, service, owner, request);
      }),
    );
  command
    .command('list')
    .description('list all backfills, newest first (accepts -w)')
    .action((_options: object, list: Command) =>
      withOwner(list, terminal, command.opts(), async ({ owner }) => {
        const { describeBackfills } = await import('./backfill-view.ts');
        const listed = await owner.ask('backfillList', undefined);
        printData(list, terminal, listed, (columnsMax, shown) => describeBackfills(shown, columnsMax));
      }),
    );
  command
    .command('cancel')
    .description('cancel a backfill; messages that have landed stay (accepts -w)')
    .argument('<id>', 'the number of the backfill; see "wattline backfill list"', positive)
    .action((backfillId: number, _options: object, cancel: Command) =>
      withOwner(cancel, terminal, command.opts(), async ({ owner }) => {
        await owner.ask('backfillCancel', { backfillId });
        printData(
          cancel,
          terminal,
          { backfillId, state: 'cancelled' },
          () => `backfill ${backfillId}: cancelled\n`,
        );
      }),
    );
  command
    .command('gaps')
    .description('list the gaps of the stream, and what the upstream still has of them (accepts -w)')
    .action((_options: object, gaps: Command) =>
      withOwner(gaps, terminal, command.opts(), async ({ owner }) => {
        const { describeGaps } = await import('./backfill-view.ts');
        const open = await owner.ask('backfillGaps', {});
        printData(gaps, terminal, open, (columnsMax, shown) => describeGaps(shown, columnsMax));
      }),
    );
}

interface Asked {
  owner: WarehouseOwner;
  workgroup: WorkgroupConfig;
  service: Service;
}

/** Asks the process that has the warehouse open: the running service, or this process. */
async function withOwner(
  command: Command,
  terminal: Terminal,
  options: BackfillCommandOptions,
  work: (asked: Asked) => Promise<void>,
): Promise<void> {
  await runTask(command, terminal, async (config, service) => {
    const workgroup = chooseWorkgroup(config, options.workgroup);
    // The command line is checked before anything is opened.
    if (command.name() === 'backfill') requestOf(options, workgroup);
    const { openOwner } = await import('../../service/open-owner.ts');
    const { createUpstreams, withUpstreams } = await import('../../service/upstreams.ts');
    const { localUrl } = await import('../../http/local-url.ts');
    const { createAccess } = await import('../../access/access.ts');
    const { createWorkgroups } = await import('../../config/workgroups.ts');
    const owner = await openOwner(config, workgroup, service, async (pipeline) => {
      const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: service.clock });
      const ownUrl = localUrl(config.http.host, config.http.streamPort);
      return withUpstreams(pipeline, createUpstreams(createWorkgroups(config), ownUrl, access).addressOf);
    });
    try {
      await work({ owner, workgroup, service });
    } finally {
      await owner.close();
    }
  });
}

async function runAndPrint(
  command: Command,
  { terminal, signal }: Service,
  owner: WarehouseOwner,
  request: BackfillRequest,
): Promise<void> {
  const { superviseBackfill } = await import('./backfill-run.ts');
  const { createBackfillView, describeBackfillOutcome } = await import('./backfill-view.ts');
  const view = createBackfillView(terminal, () => performance.now());
  try {
    const outcome = await superviseBackfill({ owner, request, signal, onProgress: view.show });
    view.clear();
    printData(command, terminal, outcome, () => describeBackfillOutcome(outcome));
    if (outcome.kind === 'cancelled') {
      throw new TerminalError(
        'Cancelled',
        `backfill ${outcome.backfillId} was cancelled; messages that have landed stay`,
      );
    }
  } finally {
    view.clear();
  }
}

/** @throws InputError with all problems of the command line */
function requestOf(options: BackfillCommandOptions, workgroup: WorkgroupConfig): BackfillRequest {
  const { source, from, to, table, gaps, messagesPerSecond } = options;
  if (source === 'files')
    throw commandLineErrors([{ path: '--source', message: 'use "wattline import <files>" to read files' }]);
  if (gaps && source === 'archive')
    throw commandLineErrors([{ path: '--source', message: 'gaps are filled from the stream' }]);
  const wish = { source: gaps ? ('gaps' as const) : source, from, to, table, messagesPerSecond };
  const made = makeBackfillRequest(wish, workgroup);
  if ('request' in made) return made.request;
  throw commandLineErrors(made.problems.map(({ path, message }) => ({ path: `--${path}`, message })));
}

function positive(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Use a whole number above 0.');
  return Number(text);
}

const help = `
Sources:
  stream   messages that the upstream still has, by the time at which it stored them. Messages that have already landed change nothing.
           The live reader continues. "gaps" lists its gaps, and --gaps fills them.
  archive  messages in the lake, by the time at which they were measured. Use it for a field that was configured later and whose messages the
           warehouse no longer has. It also reads quarantined messages that can be decoded now. It does not ask the upstream.
  files    use "wattline import <files>", because files need a mapping of their columns

After Ctrl-C, a crash or a power cut, run the same command again to continue. "wattline backfill cancel <id>" cancels it. If "wattline up"
runs, the service does the work. Otherwise this command does it, rolls up and publishes.

Examples:
  wattline backfill gaps
  wattline backfill --gaps
  wattline backfill --from 2026-11-20T08:00:00Z --to 2026-11-20T09:00:00Z --dry-run
  wattline backfill --source archive --from 2024-01-01 --table solar
  wattline backfill list --json`;
