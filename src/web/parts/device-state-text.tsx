import { useContext } from 'preact/hooks';
import type { KindOfDevice } from '../facts/device-kind.ts';
import type { DeviceRow } from '../facts/device-rows.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { dayAndTime, timeSince } from '../words/time-words.ts';
import { type StateKind, StateWord } from './state-word.tsx';
import { TimeAgo } from './time-text.tsx';

const looks: Readonly<Record<KindOfDevice, { sign: StateKind; words: string }>> = {
  offline: { sign: 'bad', words: 'offline' },
  silent: { sign: 'doubtful', words: 'silent' },
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
      {kind === 'silent' && lastSeen && (
        <span class="muted">
          {' '}
          last data <TimeAgo at={lastSeen} />
        </span>
      )}
      {kind !== 'silent' && since && (
        <span class="muted">
          {' '}
          <TimeFor since={since} />
          {reason && reason !== words && `, ${reason}`}
        </span>
      )}
    </span>
  );
}

/** How long a state has lasted. */
function TimeFor({ since }: { since: string }) {
  const { zone } = useContext(PageWorkContext);
  const span = timeSince(since);
  return (
    <time dateTime={since} title={`since ${dayAndTime(since, zone)} (${zone})`}>
      {span === undefined ? 'just now' : `for ${span}`}
    </time>
  );
}

/** When the newest data of a device came. Data can come late, while the device counts as offline. */
export function LastData({ row: { kind, status } }: { row: DeviceRow }) {
  const { since, lastSeen } = status;
  const isLate = kind === 'offline' && since !== null && lastSeen !== null && lastSeen > since;
  return (
    <>
      <TimeAgo at={lastSeen} />
      {isLate && <span class="muted">, after it went offline</span>}
    </>
  );
}
