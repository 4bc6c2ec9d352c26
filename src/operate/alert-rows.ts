import type { AlertList } from '../alerts/list-alerts.ts';
import type { ListRows } from './send-list.ts';

/** The open alerts of an answer as rows. */
export function alertRows({ alerts }: AlertList): ListRows {
  return {
    name: 'alerts',
    columns: ['condition', 'subject', 'note', 'since', 'known', 'snoozed', 'seen_by', 'sent_to'],
    rows: alerts.map(({ condition, subject, text, since, known, snoozed, seenBy, sentTo }) => ({
      condition,
      subject,
      note: text,
      since,
      known,
      snoozed,
      seen_by: seenBy,
      sent_to: sentTo,
    })),
  };
}
