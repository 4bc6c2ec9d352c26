import type { AlertList } from '../alerts/list-alerts.ts';
import type { ListRows } from './send-list.ts';

/** The open alerts of an answer as rows. */
export function alertRows({ alerts }: AlertList): ListRows {
  return {
    name: 'alerts',
    columns: ['condition', 'subject', 'note', 'since', 'known', 'snoozed', 'seen_by', 'told'],
    rows: alerts.map(({ condition, subject, text, since, known, snoozed, seenBy, told }) => ({
      condition,
      subject,
      note: text,
      since,
      known,
      snoozed,
      seen_by: seenBy,
      told,
    })),
  };
}
