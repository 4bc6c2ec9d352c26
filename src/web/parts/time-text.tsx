import { useContext } from 'preact/hooks';
import { PageWorkContext } from '../facts/page-work.ts';
import { dayAndTime, timeAgo } from '../words/time-words.ts';

/** An instant as the time since then, with the full time on hover. Null is a dash. */
export function TimeAgo({ at }: { at: string | null | undefined }) {
  const { zone } = useContext(PageWorkContext);
  if (!at) return <span class="muted">–</span>;
  return (
    <time dateTime={at} title={`${dayAndTime(at, zone)} (${zone})`}>
      {timeAgo(at)}
    </time>
  );
}

/** An instant as day and time of the workgroup. Null is a dash. */
export function DayTime({ at }: { at: string | null | undefined }) {
  const { zone } = useContext(PageWorkContext);
  if (!at) return <span class="muted">–</span>;
  return <time dateTime={at}>{dayAndTime(at, zone)}</time>;
}
