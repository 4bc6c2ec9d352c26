import { HOUR_MS } from '../lib/time.ts';
import { formatDuration } from '../lib/units.ts';
import type { AlertCondition } from './alert-condition-type.ts';

export const exportUndelivered: AlertCondition<'exportUndelivered'> = {
  title: 'Export not delivered',
  find: ({ exports, nowMs }, { limit }) =>
    exports?.flatMap(({ id, undelivered }) => {
      if (!undelivered || Math.abs(nowMs - undelivered.dueMs) < limit) return [];
      const { period, why } = undelivered;
      const text = `export ${id} has not delivered ${period}, which was due more than ${formatDuration(limit)} ago${why ? `: ${why}` : ''}`;
      return [{ subject: id, text }];
    }),
};

export const exportOutdated: AlertCondition<'exportOutdated'> = {
  title: 'Delivered files outdated',
  isNews: true,
  digestMs: HOUR_MS,
  find: ({ exports }) =>
    exports
      ?.filter(({ outdatedFiles }) => outdatedFiles > 0)
      .map(({ id }) => ({
        subject: id,
        text: `the data of delivered files of export ${id} have changed; "wattline exports list" shows which`,
      })),
};
