import { type Command, InvalidArgumentError, Option } from 'commander';
import type { BackfillRequest } from '../../backfill/backfill-request.ts';
import { RATE_DEFAULT } from '../../backfill/backfill-request.ts';
import type { WorkgroupConfig } from '../../config/config.ts';
import { tableNameSchema } from '../../contract/messages.ts';
import { InputError, TerminalError } from '../../lib/errors.ts';
import { dayStart, isLocalDate, type UtcMs } from '../../lib/time.ts';
import type { WarehouseOwner } from '../../service/find-owner.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
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
    .description('read again what is past: from the upstream, or from the messages that the lake keeps')
    .option('-w, --workgroup <id>', 'the workgroup; needed where there are several')
    .option(
      '-f, --from <time>',
      "from then on: a day in the workgroup's zone, an ISO time with a zone, or milliseconds",
    )
    .option('--to <time>', 'until then, not included (default: all that there is)')
    .option('-t, --table <name>', 'only this table')
    .addOption(
      new Option('-s, --source <source>', 'what to read')
        .choices(['stream', 'archive', 'files'])
        .default('stream'),
    )
    .option('--gaps', 'instead of a time: every stretch that is missing and that the upstream still has')
    .option('--messages-per-second <n>', 'how fast to read beside the live reader', positive, RATE_DEFAULT)
    .option('--dry-run', 'show what would be read and read nothing')
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
    .description('show every backfill, the newest first (takes -w, as "wattline backfill" does)')
    .action((_options: object, list: Command) =>
      withOwner(list, terminal, command.opts(), async ({ owner }) => {
        const { describeList } = await import('./backfill-view.ts');
        const listed = await owner.ask('backfillList', undefined);
        printData(list, terminal, listed, (columnsMax, shown) => describeList(shown, columnsMax));
      }),
    );
  command
    .command('cancel')
    .description('end a backfill where it stands; what has landed stays (takes -w)')
    .argument('<id>', 'its number; see "wattline backfill list"', positive)
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
    .description(
      'show the stretches of the stream that are missing, and what the upstream still has of them (takes -w)',
    )
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

/** Asks whoever has the warehouse open: the running service, or this process. */
async function withOwner(
  command: Command,
  terminal: Terminal,
  options: BackfillCommandOptions,
  work: (asked: Asked) => Promise<void>,
): Promise<void> {
  await runTask(command, terminal, async (config, service) => {
    const workgroup = chooseWorkgroup(config, options.workgroup);
    // What is wrong with the command line is told before anything is opened.
    if (command.name() === 'backfill') requestOf(options, workgroup);
    const { findOwner } = await import('../../service/find-owner.ts');
    const { createUpstreams, httpUrl, withUpstreams } = await import('../../service/upstreams.ts');
    const { createAccess } = await import('../../access/access.ts');
    const owner = await findOwner(config, workgroup, service, async (pipeline) => {
      const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: service.clock });
      const ownUrl = httpUrl(config.http.host, config.http.streamPort);
      return withUpstreams(pipeline, createUpstreams(config, ownUrl, access).addressOf);
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
  const { runBackfill } = await import('./backfill-run.ts');
  const { createBackfillView, describeOutcome } = await import('./backfill-view.ts');
  const view = createBackfillView(terminal, () => performance.now());
  try {
    const outcome = await runBackfill({ owner, request, signal, onProgress: view.show });
    view.clear();
    printData(command, terminal, outcome, () => describeOutcome(outcome));
    if (outcome.kind === 'cancelled') {
      throw new TerminalError(
        'Cancelled',
        `backfill ${outcome.backfillId} was cancelled; what has landed stays`,
      );
    }
  } finally {
    view.clear();
  }
}

/** @throws InputError with everything that is wrong with the command line */
function requestOf(
  options: BackfillCommandOptions,
  { timezone, energyStreams }: WorkgroupConfig,
): BackfillRequest {
  const { source, messagesPerSecond } = options;
  const problems: Array<{ path: string; message: string }> = [];
  const timeOf = (path: string, text: string | undefined): UtcMs | undefined => {
    if (text === undefined) return undefined;
    const ms = parseTime(text, timezone);
    if (ms === undefined) {
      problems.push({
        path,
        message: `"${text}" is no time; write a day (2026-11-20), an ISO time with a zone (2026-11-20T08:00:00Z) or milliseconds`,
      });
    }
    return ms;
  };
  const fromMs = timeOf('--from', options.from);
  const toMs = timeOf('--to', options.to);
  const table = options.table === undefined ? undefined : tableNameSchema.safeParse(options.table);
  if (table?.success === false) problems.push({ path: '--table', message: table.error.issues[0]!.message });
  const read = [...new Set(energyStreams.map((stream) => stream.table))];
  if (
    source === 'archive' &&
    (options.table === undefined ? read.length === 0 : !read.includes(options.table))
  ) {
    const message = `no energy stream reads it; those that are read: ${read.join(', ') || 'none'}`;
    problems.push({ path: '--table', message });
  }
  if (source === 'files') {
    problems.push({ path: '--source', message: 'files are read by "wattline import <files>"' });
  }
  if (options.gaps) {
    for (const name of ['from', 'to', 'table'] as const) {
      if (options[name] !== undefined)
        problems.push({ path: `--${name}`, message: 'cannot be given with --gaps' });
    }
    if (source === 'archive') problems.push({ path: '--source', message: 'gaps are filled from the stream' });
  } else if (options.from === undefined && source !== 'files') {
    problems.push({ path: '--from', message: 'is needed, or --gaps' });
  }
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    problems.push({ path: '--to', message: 'must be after --from' });
  }
  if (problems.length > 0) throw new InputError('the command line', problems);
  if (options.gaps) return { source: 'gaps', messagesPerSecond };
  return {
    source: source as 'stream' | 'archive',
    fromMs: fromMs!,
    ...(toMs !== undefined && { toMs }),
    ...(table && { table: table.data! }),
    messagesPerSecond,
  };
}

function parseTime(text: string, timezone: string): UtcMs | undefined {
  if (isLocalDate(text)) return dayStart(text, timezone);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (!/^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:?\d{2})$/i.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}

function positive(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}

const help = `
Sources:
  stream   what the upstream still retains, by the time at which it was stored there. What has landed already changes nothing, and the
           live reader goes on undisturbed. Gaps that it had to leave are listed by "gaps" and filled by --gaps.
  archive  the messages that the lake keeps, by the time at which they were measured: a field that was configured later is read
           from those that the warehouse no longer has. What could not be decoded when it came is decoded again, and leaves the
           quarantine where it is a message now. Nothing is asked of the upstream.
  files    is "wattline import <files>", which takes a mapping of their columns

Ctrl-C, a crash or a power cut lose nothing: the same command goes on where it stopped. "wattline backfill cancel <id>" ends it. While
"wattline up" runs it does the work; otherwise this command does, rolls up and publishes.

Examples:
  wattline backfill gaps
  wattline backfill --gaps
  wattline backfill --from 2026-11-20T08:00:00Z --to 2026-11-20T09:00:00Z --dry-run
  wattline backfill --source archive --from 2024-01-01 --table solar
  wattline backfill list --json`;
