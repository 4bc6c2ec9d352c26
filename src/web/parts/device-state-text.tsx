import type { DeviceRow } from '../facts/device-rows.ts';
import { timeAgo } from '../words/time-words.ts';
import { StateWord } from './state-word.tsx';
import { TimeAgo } from './time-text.tsx';

/** The state of a device in words, with its reason. */
export function DeviceStateText({ row: { kind, status } }: { row: DeviceRow }) {
  const { state, since, reason } = status;
  const sign = { silent: 'bad', online: 'good', asleep: 'calm', unknown: 'noted' } as const;
  const words = state === 'unknown' ? 'no message yet' : kind === 'asleep' ? 'asleep' : state;
  return (
    <span>
      <StateWord kind={sign[kind]}>{words}</StateWord>
      {since && (
        <span class="muted">
          {' '}
          <TimeSince at={since} />
          {reason && reason !== words && `, ${reason}`}
        </span>
      )}
    </span>
  );
}

function TimeSince({ at }: { at: string }) {
  const ago = timeAgo(at);
  return <>{ago === 'just now' ? ago : <TimeAgo at={at} />}</>;
}
