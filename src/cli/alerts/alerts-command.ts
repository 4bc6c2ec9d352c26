import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { alertStore, openAlertBook } from '../../alerts/alert-book.ts';
import { conditionNames } from '../../alerts/alert-conditions.ts';
import type { AlertMessage } from '../../alerts/alert-state.ts';
import { type AlertRequest, SNOOZE_MS_MAX } from '../../alerts/change-by-hand.ts';
import { type AlertList, listAlerts } from '../../alerts/list-alerts.ts';
import { createSendAlert } from '../../alerts/send-alert.ts';
import { localActor } from '../../audit/local-actor.ts';
import { channelsOf } from '../../config/alert-settings.ts';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { TransientError } from '../../lib/errors.ts';
import { formatCountOf } from '../../lib/format-count.ts';
import { MINUTE_MS, SECOND_MS } from '../../lib/time.ts';
import { parseQuantity } from '../../lib/units.ts';
import { askOrRead } from '../../service/ask-or-read.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printData } from '../terminal/output.ts';
import { describeAlerts, describeTests, type TestedChannel } from './alerts-view.ts';

interface SnoozeOptions {
  workgroup?: string;
  for: string;
}

export function addAlertsCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('alerts')
    .description('list, snooze and test alerts: messages about problems by webhook, ntfy or e-mail')
    .addHelpText('after', help);
  command
    .command('list')
    .description('list the open alerts, the snoozes, and the state of the channels')
    .option(...WORKGROUP_OPTION)
    .action((options: { workgroup?: string }, list: Command) =>
      runTask(list, terminal, async (config, service) => {
        const workgroup = chooseWorkgroup(config, options.workgroup);
        const page = { limit: LISTED_MAX };
        const read = () => readStored(config, workgroup, service);
        const found = await askOrRead(config, workgroup, service, 'alertList', page, read);
        printData(list, terminal, found, (columnsMax, shown) => describeAlerts(shown, columnsMax));
      }),
    );
  command
    .command('snooze')
    .description('send no messages about a condition for a while')
    .argument('<condition>', 'a condition, or "all"')
    .option(...WORKGROUP_OPTION)
    .option('--for <duration>', 'the length of the snooze, such as 2h; 0 ends one', '1d')
    .addHelpText('after', snoozeHelp)
    .action((condition: string, options: SnoozeOptions, snooze: Command) =>
      runTask(snooze, terminal, async (config, service) => {
        const workgroup = chooseWorkgroup(config, options.workgroup);
        const request: AlertRequest = {
          do: 'snooze',
          condition: knownCondition(condition),
          forMs: durationOf(options.for),
          by: localActor(),
        };
        const refuse = refuseWithoutWorker;
        const found = await askOrRead(config, workgroup, service, 'alertChange', request, refuse);
        printData(snooze, terminal, found, (columnsMax, shown) => describeAlerts(shown, columnsMax));
      }),
    );
  command
    .command('test')
    .description('send a test message to the channels, from this process')
    .argument('[channel]', 'only this channel')
    .action((channel: string | undefined, _options: object, test: Command) =>
      runTask(test, terminal, async (config, service) => {
        const tested = await testChannels(config, channel, service);
        printData(test, terminal, tested, (_, shown) => describeTests(shown));
        const failed = tested.filter(({ outcome }) => outcome !== 'told');
        if (failed.length > 0)
          throw new TransientError(
            'AlertTestFailed',
            `${failed.length} of ${formatCountOf(tested.length, 'channel has', 'channels have')} not taken the message; the reasons are above`,
          );
      }),
    );
}

const LISTED_MAX = 1_000;
const TEST_MS_MAX = 30 * SECOND_MS;

async function testChannels(
  config: Config,
  channelId: string | undefined,
  { clock, signal }: Service,
): Promise<TestedChannel[]> {
  const { channels } = config.alerts;
  if (channels.length === 0)
    throw commandLineError('channel', 'no channel is configured; see docs/alerts.md');
  const chosen = channels.filter(({ id }) => channelId === undefined || id === channelId);
  if (chosen.length === 0)
    throw commandLineError(
      'channel',
      `"${channelId}" is not configured; configured are ${channels.map(({ id }) => id).join(', ')}`,
    );
  const send = createSendAlert(config.mail);
  return Promise.all(
    chosen.map(async (channel) => {
      const message: AlertMessage = {
        id: randomUUID(),
        kind: 'test',
        condition: 'test',
        subjects: [],
        title: 'Wattline: test',
        text: 'This is a test of the alerts. Nothing has happened.',
        isUrgent: false,
        atMs: clock.now(),
        attempts: 1,
      };
      const [workgroup = config.workgroups[0]?.id ?? ''] = channel.workgroups ?? [];
      const limited = AbortSignal.any([signal, AbortSignal.timeout(TEST_MS_MAX)]);
      const outcome = await send(channel, message, workgroup, limited);
      return {
        channel: channel.id,
        outcome: outcome.kind,
        why: outcome.kind === 'told' ? null : outcome.why,
      };
    }),
  );
}

/** The worker keeps the alerts. If none runs, the stored ones are listed. */
function readStored(
  config: Config,
  workgroup: WorkgroupConfig,
  { clock, logger }: Service,
): Promise<AlertList> {
  const stored = openAlertBook(alertStore(config, workgroup.id), logger).read();
  const channels = channelsOf(config.alerts, workgroup.id);
  return stored.then((state) =>
    listAlerts(state, { page: { limit: LISTED_MAX }, channels, nowMs: clock.now() }),
  );
}

async function refuseWithoutWorker(): Promise<never> {
  throw new TransientError('NotRunning', 'no worker runs for this workgroup; start one with "wattline up"');
}

function knownCondition(condition: string): string {
  const known = ['all', ...conditionNames];
  if (known.includes(condition)) return condition;
  throw commandLineError('condition', `must be one of ${known.join(', ')}`);
}

function durationOf(text: string): number {
  const ms = text === '0' ? 0 : parseQuantity('duration', text);
  if (ms !== undefined && (ms === 0 || (ms >= MINUTE_MS && ms <= SNOOZE_MS_MAX))) return ms;
  throw commandLineError('--for', 'must be a duration from 1m to 30d, such as "2h", or 0');
}

const help = `
Conditions and channels are in "alerts" of the configuration; docs/alerts.md explains them.

Examples:
  wattline alerts list
  wattline alerts snooze deviceSilent --for 12h
  wattline alerts test ops`;

const snoozeHelp = `
At the end of the snooze, conditions that still hold are sent. If the message about an alert was sent before the snooze, the message about its end is sent during the snooze, too.
Conditions: ${conditionNames.join(', ')}.`;
