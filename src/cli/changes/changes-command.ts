import type { Command } from 'commander';
import type { WorkgroupConfig } from '../../config/config.ts';
import { findDevice } from '../../config/find-device.ts';
import { InputError, TransientError } from '../../lib/errors.ts';
import { formatInstant, formatLocal, type UtcMs } from '../../lib/time.ts';
import type { DayChange } from '../../report/day-changes.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { readConfig } from '../global-options.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData } from '../terminal/output.ts';

interface ChangesOptions {
  since: string;
  until?: string;
  workgroup?: string;
  device?: string;
  all?: boolean;
}

/** A page of more is for a program to read. */
const ROWS_MAX = 500;

export function addChangesCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('changes')
    .description('show which days of closed periods have changed, how, and why')
    .requiredOption(
      '--since <time>',
      'changes made from here on: a day, or an instant such as 2026-11-20T13:05:00Z',
    )
    .option('--until <time>', 'up to the end of this day, or to this instant (default: now)')
    .option('-w, --workgroup <id>', 'the workgroup; needed where there are several')
    .option('-d, --device <device>', 'only this device: its id, or the name that it is configured with')
    .option('--all', 'days too that were over but not final yet')
    .addHelpText('after', help)
    .action(async (options: ChangesOptions) => {
      const config = readConfig(command, terminal);
      const workgroup = chooseWorkgroup(config, options.workgroup);
      const { lakeFolder } = await import('../../pipeline/assignment.ts');
      const { openLakeReader } = await import('../../report/lake-reader.ts');
      const { changeBound, readDayChanges, totalsOf } = await import('../../report/day-changes.ts');
      const boundOf = (text: string, name: 'since' | 'until'): UtcMs => {
        const ms = changeBound(text, workgroup.timezone, name);
        if (ms !== undefined) return ms;
        throw inputError(
          `--${name}`,
          `"${text}" is no day such as 2026-11-20 and no instant with its zone such as 2026-11-20T13:05:00Z`,
        );
      };
      const query = {
        sinceMs: boundOf(options.since, 'since'),
        untilMs: options.until === undefined ? undefined : boundOf(options.until, 'until'),
        devices: options.device === undefined ? undefined : [deviceOf(workgroup, options.device)],
        withProvisional: options.all ?? false,
      };
      if (query.untilMs !== undefined && query.untilMs <= query.sinceMs)
        throw inputError('--until', 'must be after --since');
      const lake = await openLakeReader({ lakeDir: lakeFolder(config) });
      try {
        const generation = await lake.current(workgroup.id);
        if (!generation)
          throw new TransientError(
            'NothingPublished',
            `nothing of workgroup ${workgroup.id} is published below ${config.dataDir} yet; start a worker with "wattline up"`,
          );
        const changes = await readDayChanges(lake, generation, query);
        const data = {
          workgroupId: workgroup.id,
          since: formatInstant(query.sinceMs),
          until: query.untilMs === undefined ? null : formatInstant(query.untilMs),
          totals: totalsOf(changes),
          changes,
        };
        printData(command, terminal, data, (_, shown) =>
          describeChanges(shown.changes, shown.totals, workgroup),
        );
      } finally {
        await lake.close();
      }
    });
}

const causeWords: Readonly<Record<DayChange['causes'][number], string>> = {
  stream: 'late readings',
  import: 'import',
  backfill: 'backfill',
  configuration: 'configuration',
  zone: 'time zone',
  learnt: 'learnt limits',
  correction: 'correction',
  rules: 'another version of Wattline',
  retried: 'a field that could not be computed before',
};

/** A row for each day of a device and source, and what they come to. */
export function describeChanges(
  changes: readonly DayChange[],
  totals: { days: number; beforeWh: number; afterWh: number; differenceWh: number },
  { devices, timezone }: Pick<WorkgroupConfig, 'devices' | 'timezone'>,
): string {
  if (changes.length === 0) return 'no closed day has changed\n';
  const names = new Map(devices.map(({ id, name }) => [id, name]));
  const table = formatTable<DayChange>(
    [
      { title: 'Day', value: ({ day }) => day },
      { title: 'Device', value: ({ device }) => names.get(device) ?? device },
      { title: 'Source', value: ({ source }) => source },
      { title: 'Before Wh', value: ({ before }) => whole(before?.energyWh), align: 'right' },
      { title: 'After Wh', value: ({ after }) => whole(after.energyWh), align: 'right' },
      { title: 'Change', value: ({ differenceWh }) => signed(differenceWh), align: 'right' },
      { title: 'Status', value: ({ kind }) => kind },
      { title: 'Version', value: ({ before, after }) => step(before?.version, after.version) },
      { title: 'When', value: ({ changedAt }) => formatLocal(Date.parse(changedAt), timezone).slice(0, 19) },
      {
        title: 'Why',
        value: ({ causes }) => causes.map((cause) => causeWords[cause]).join(', ') || 'not known',
      },
      { title: 'Batch', value: ({ batch }) => batch },
      { title: 'Beside it', value: besideEnergy },
    ],
    changes.slice(0, ROWS_MAX),
  );
  const rest = changes.length - ROWS_MAX;
  const more = rest > 0 ? `... and ${rest} more; --json has all of them\n` : '';
  const { days, beforeWh, afterWh, differenceWh } = totals;
  return `${table}${more}${days} ${days === 1 ? 'day' : 'days'}: ${beforeWh} Wh before, ${afterWh} Wh after, ${signed(differenceWh)} Wh\n`;
}

/** What is different although it is no energy. */
function besideEnergy({ before, after }: DayChange): string {
  if (!before || after.energyWh === null) return after.flags.map((flag) => `+${flag}`).join(' ');
  const method = before.method === after.method ? [] : [`${before.method} -> ${after.method}`];
  const came = after.flags.filter((flag) => !before.flags.includes(flag)).map((flag) => `+${flag}`);
  const went = before.flags.filter((flag) => !after.flags.includes(flag)).map((flag) => `-${flag}`);
  return [...method, ...came, ...went].join(' ');
}

const whole = (value: number | null | undefined) =>
  value === null || value === undefined ? '-' : `${value}`;
const signed = (value: number) => (value > 0 ? `+${value}` : `${value}`);
const step = (before: number | undefined, after: number) =>
  before === undefined ? `${after}` : `${before} -> ${after}`;

function deviceOf(workgroup: WorkgroupConfig, text: string): string {
  const id = findDevice(workgroup, text);
  if (id !== undefined) return id;
  const names = workgroup.devices.flatMap(({ name }) => name ?? []);
  const known = names.length > 0 ? `; configured names are ${names.slice(0, 20).join(', ')}` : '';
  throw inputError('--device', `"${text}" is neither a device id nor a configured name${known}`);
}

function inputError(path: string, message: string): InputError {
  return new InputError('the command line', [{ path, message }]);
}

const help = `
Each row is a day of a device and source that got another version after it was final (pipeline.closeAfter), or came to be, or went, after its period
was closed: what it was before the first change in that time, and what it is after the last. "wattline explain <device> <day>" tells each
version of one. Works while the service runs and while it does not. Times are those of the workgroup's zone.

Examples:
  wattline changes --since 2026-11-01
  wattline changes --since 2026-11-01 --until 2026-11-07 --device garage
  wattline changes --since 2026-11-20T06:00:00Z --json | jq .totals`;
