import type { Command } from 'commander';
import { TransientError } from '../../lib/errors.ts';
import { formatInstant, systemClock, type UtcMs } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseDevice } from '../choose-device.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { readConfig } from '../read-config.ts';
import { printData } from '../terminal/output.ts';
import { describeChanges } from './changes-view.ts';

interface ChangesOptions {
  since: string;
  until?: string;
  workgroup?: string;
  device?: string;
  all?: boolean;
}

export function addChangesCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('changes')
    .description('show the days of closed periods that have changed, with both values and the causes')
    .requiredOption(
      '--since <time>',
      'changes since this day (also today, yesterday), or since an instant such as 2026-11-20T13:05:00Z',
    )
    .option('--until <time>', 'until the end of this day, or until this instant (default: now)')
    .option(...WORKGROUP_OPTION)
    .option('-d, --device <device>', 'only this device: its id or its configured name')
    .option('--all', 'also days that had ended but were not final')
    .addHelpText('after', help)
    .action(async (options: ChangesOptions) => {
      const config = readConfig(command, terminal);
      const workgroup = chooseWorkgroup(config, options.workgroup);
      const { openCommandLake } = await import('../../service/open-command-lake.ts');
      const {
        changeBound,
        readDayChanges,
        totalChanges: totalsOf,
      } = await import('../../report/day-changes.ts');
      const boundOf = (text: string, name: 'since' | 'until'): UtcMs => {
        const ms = changeBound(text, { zone: workgroup.timezone, nowMs: systemClock.now(), end: name });
        if (ms !== undefined) return ms;
        throw commandLineError(
          `--${name}`,
          `"${text}" is neither a day such as 2026-11-20, today or yesterday nor an instant with a zone such as 2026-11-20T13:05:00Z`,
        );
      };
      const query = {
        sinceMs: boundOf(options.since, 'since'),
        untilMs: options.until === undefined ? undefined : boundOf(options.until, 'until'),
        devices:
          options.device === undefined ? undefined : [chooseDevice(workgroup, options.device, '--device')],
        withProvisional: options.all ?? false,
      };
      if (query.untilMs !== undefined && query.untilMs <= query.sinceMs)
        throw commandLineError('--until', 'must be after --since');
      const lake = await openCommandLake(config, { clock: systemClock });
      try {
        const generation = await lake.newestGeneration(workgroup.id);
        if (!generation)
          throw new TransientError(
            'NothingPublished',
            `workgroup ${workgroup.id} has published nothing below ${config.dataDir} yet; start a worker with "wattline up"`,
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

const help = `
Each row is a day of a device and source that changed after its period was closed (pipeline.closeAfter): the day got a new version, appeared
or disappeared. The row shows the values before the first and after the last change in the given time. "wattline explain <device> <day>" shows
each version. The command works with and without a running service. Times are in the workgroup's zone.

Examples:
  wattline changes --since 2026-11-01
  wattline changes --since 2026-11-01 --until 2026-11-07 --device garage
  wattline changes --since 2026-11-20T06:00:00Z --json | jq .totals`;
