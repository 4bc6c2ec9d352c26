import type { AlertList, ListedAlert } from '../../alerts/list-alerts.ts';
import type { SendOutcome } from '../../alerts/send-alert.ts';
import { formatCount } from '../../lib/format-count.ts';
import { formatTable } from '../terminal/format-table.ts';

export interface TestedChannel {
  channel: string;
  outcome: SendOutcome['kind'];
  why: string | null;
}

/** The open alerts as a table, and lines about snoozes and channels. */
export function describeAlerts({ alerts, total, snoozes, channels }: AlertList, columnsMax: number): string {
  if (channels.length === 0) return 'no channel of "alerts" receives the alerts of this workgroup\n';
  const columns = [
    { title: 'Since', value: ({ since }: ListedAlert) => since },
    { title: 'Condition', value: ({ condition }: ListedAlert) => condition },
    { title: 'State', value: stateOf },
    { title: 'Alert', value: ({ text }: ListedAlert) => text },
  ];
  const more = total - alerts.length;
  const notes = [
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
    ...snoozes.map(({ condition, until, by }) => `${condition} is snoozed until ${until} by ${by}`),
    ...channels.map(({ id, kind, lastSentAt, lastError, waiting }) =>
      [
        `channel ${id} (${kind}): ${lastSentAt === null ? 'nothing sent yet' : `last sent at ${lastSentAt}`}`,
        ...(waiting ? ['a message waits'] : []),
        ...(lastError === null ? [] : [lastError]),
      ].join('; '),
    ),
  ];
  const table = alerts.length === 0 ? 'no open alerts\n' : formatTable(columns, alerts, columnsMax);
  return `${table}${notes.join('\n')}\n`;
}

function stateOf({ known, snoozed, seenBy, sentTo }: ListedAlert): string {
  if (known) return 'known before';
  if (seenBy !== null) return 'seen';
  if (snoozed) return 'snoozed';
  return sentTo.length > 0 ? `sent to ${sentTo.join(', ')}` : 'not sent yet';
}

export function describeTests(tested: readonly TestedChannel[]): string {
  return tested
    .map(({ channel, outcome, why }) => `${channel}: ${outcome === 'told' ? 'sent' : `${outcome}: ${why}`}\n`)
    .join('');
}
