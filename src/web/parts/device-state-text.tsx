import type { KindOfDevice } from '../facts/device-kind.ts';
import type { DeviceRow } from '../facts/device-rows.ts';
import { timeAgo } from '../words/time-words.ts';
import { type StateKind, StateWord } from './state-word.tsx';
import { TimeAgo } from './time-text.tsx';

const looks: Readonly<Record<KindOfDevice, { sign: StateKind; words: string }>> = {
  silent: { sign: 'bad', words: 'offline' },
  quiet: { sign: 'doubtful', words: 'silent' },
  unknown: { sign: 'noted', words: 'no message yet' },
  heard: { sign: 'good', words: 'sends data' },
  asleep: { sign: 'calm', words: 'asleep' },
  online: { sign: 'good', words: 'online' },
};

/** The state of a device in words, with its reason. */
export function DeviceStateText({ row: { kind, status } }: { row: DeviceRow }) {
  const { since, lastSeen, reason } = status;
  const { sign, words } = looks[kind];
  return (
    <span>
      <StateWord kind={sign}>{words}</StateWord>
      {kind === 'quiet' && lastSeen && (
        <span class="muted">
          {' '}
          last data <TimeAgo at={lastSeen} />
        </span>
      )}
      {kind !== 'quiet' && since && (
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
