import type { PlannedBackfill } from '../facts/answers.ts';
import { countText, listWords, plural } from '../words/number-words.ts';
import { dayAndMonth } from '../words/time-words.ts';

const DAYS_NAMED = 6;

/** What a backfill would read, and what it cannot read. */
export function BackfillPreview({ plan }: { plan: PlannedBackfill }) {
  const { messages, requests, days, dayCount, pieces, notes, unfillable, quarantined } = plan;
  const named = days.slice(0, DAYS_NAMED).map(dayAndMonth);
  const daysText = dayCount > named.length ? `${named.join(', ')} …` : listWords(named);
  return (
    <div role="status">
      <p>
        This would read {messages === null ? 'an unknown number of messages' : plural(messages, 'message')}
        {requests > 0 && ` with at least ${plural(requests, 'request')}`}
        {dayCount > 0 && `, of ${plural(dayCount, 'day')} (${daysText})`}
        {pieces.length > 1 && `, in ${plural(pieces.length, 'piece')}`}. Nothing is read yet.
      </p>
      {quarantined && (
        <p>
          {countText(quarantined.readable)} of {plural(quarantined.kept, 'message')} of the quarantine can be
          decoded now.
        </p>
      )}
      <ul class="plain">
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
        {unfillable.map(({ gap, note }) => (
          <li key={gap}>
            Gap {gap} cannot be filled: {note}
          </li>
        ))}
      </ul>
    </div>
  );
}
