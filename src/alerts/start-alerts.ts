import { channelsOf } from '../config/alert-settings.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { InputError, TransientError } from '../lib/errors.ts';
import { type Repeating, repeat } from '../lib/repeat.ts';
import type { StartTimer } from '../lib/timer.ts';
import { type AlertRequest, changeByHand } from './change-by-hand.ts';
import { type AlertList, type AlertPage, listAlerts } from './list-alerts.ts';
import { createWorkgroupWatch, type WorkgroupWatch, type WorkgroupWatchOptions } from './watch-workgroup.ts';

interface AlertsOptions extends Pick<WorkgroupWatchOptions, 'send' | 'clock' | 'logger'> {
  workgroups: Pick<Workgroups, 'list' | 'alerts' | 'onChange'>;
  /** The parts that each workgroup has for itself. */
  open(workgroupId: string): Pick<WorkgroupWatchOptions, 'book' | 'readFacts' | 'isOwner'>;
  /** True if another worker of this machine has a workgroup of the same data folder. */
  hasBeside(workgroupId: string): boolean;
  startTimer: StartTimer;
}

const outcomes = ['told', 'refused', 'failed'] as const;

/** The alerts of the workgroups that this worker owns. */
export interface Alerts {
  /** True if a channel receives the alerts of a workgroup. */
  covers(workgroupId: string): boolean;
  list(workgroupId: string, page: AlertPage): Promise<AlertList>;
  /** @throws TransientError if it cannot be stored now; TerminalError if the workgroup has no channel */
  change(workgroupId: string, request: AlertRequest): Promise<AlertList>;
  /** To be called before the workgroup is given up. */
  leave(workgroupId: string): Promise<void>;
  /** Finished attempts, by channel and outcome. */
  sent(): ReadonlyMap<string, ReadonlyMap<string, number>>;
  stop(): Promise<void>;
}

/** Judges each covered workgroup with a separate timer, so that no workgroup waits for another one. */
export function startAlerts(options: AlertsOptions): Alerts {
  const { workgroups, startTimer, clock } = options;
  const counts = new Map<string, Map<string, number>>();
  const watches = new Map<string, { watch: WorkgroupWatch; isOwner: () => boolean; rounds: Repeating }>();
  const ownChannels = (workgroupId: string) => channelsOf(workgroups.alerts(), workgroupId);
  const covers = (workgroupId: string) => ownChannels(workgroupId).length > 0;
  /**
   * The workgroup that sends alerts about the machine to a channel: the first one that a worker of the data
   * folder has.
   */
  const speakerOf = (channelId: string) =>
    workgroups
      .list()
      .find(
        ({ id }) =>
          ownChannels(id).some((channel) => channel.id === channelId) &&
          (watches.get(id)?.isOwner() || options.hasBeside(id)),
      )?.id;

  function follow(): void {
    for (const { id } of workgroups.alerts().channels)
      if (!counts.has(id)) counts.set(id, new Map(outcomes.map((outcome) => [outcome, 0])));
    const watchedIds = new Set(workgroups.list().flatMap(({ id }) => (covers(id) ? [id] : [])));
    for (const [id, { watch, rounds }] of watches) {
      if (watchedIds.has(id)) continue;
      watches.delete(id);
      void rounds.stop().then(watch.leave);
    }
    for (const workgroupId of watchedIds) {
      if (watches.has(workgroupId)) continue;
      const own = options.open(workgroupId);
      const watch = createWorkgroupWatch({
        ...options,
        ...own,
        workgroupId,
        settings: workgroups.alerts,
        speaksForMachine: (channelId) => speakerOf(channelId) === workgroupId,
        onSent(channelId, outcome) {
          const outcomeCounts = counts.get(channelId)!;
          outcomeCounts.set(outcome, outcomeCounts.get(outcome)! + 1);
        },
      });
      watches.set(workgroupId, {
        watch,
        isOwner: own.isOwner,
        rounds: repeat(() => workgroups.alerts().checkEvery, startTimer, watch.round),
      });
    }
  }
  follow();
  const stopFollowing = workgroups.onChange(follow);

  function watchOf(workgroupId: string): WorkgroupWatch {
    const found = watches.get(workgroupId)?.watch;
    if (found) return found;
    throw new TransientError(
      'NoAlerts',
      'the alerts of this workgroup are not watched yet; try again in a moment',
    );
  }

  return {
    covers,
    async list(workgroupId, page) {
      const state = covers(workgroupId) ? await watchOf(workgroupId).state() : undefined;
      return listAlerts(state, { page, channels: ownChannels(workgroupId), nowMs: clock.now() });
    },
    async change(workgroupId, request) {
      if (!covers(workgroupId))
        throw new InputError('the request', [
          {
            path: 'alerts',
            message: 'no channel of the configuration receives the alerts of this workgroup',
          },
        ]);
      const state = await watchOf(workgroupId).change(changeByHand(request, clock.now()));
      return listAlerts(state, { page: {}, channels: ownChannels(workgroupId), nowMs: clock.now() });
    },
    async leave(workgroupId) {
      await watches.get(workgroupId)?.watch.leave();
    },
    sent: () => counts,
    async stop() {
      stopFollowing();
      await Promise.all(
        [...watches.values()].map(async ({ watch, rounds }) => {
          await rounds.stop();
          await watch.leave();
        }),
      );
    },
  };
}
