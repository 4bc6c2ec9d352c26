import { expect, test } from 'vitest';
import { SECOND_MS } from '../../src/lib/time.ts';
import { lagFromStream } from '../../src/operate/with-lag.ts';
import type { WorkgroupState } from '../../src/operate/workgroup-state.ts';

const nowMs = 1_000_000;
const poll = { lastSuccessAtMs: nowMs - 100 * SECOND_MS, lagMessages: 3, lagSeconds: 120 };
const ahead = { ...poll, lastSuccessAtMs: nowMs + SECOND_MS };

test.each<
  [
    state: WorkgroupState['state'],
    poll: WorkgroupState['poll'],
    messages: number | undefined,
    lag: Record<'messages' | 'pollSeconds' | 'seconds', number | undefined>,
  ]
>([
  ['stopped', poll, 0, { messages: 0, pollSeconds: 0, seconds: 0 }],
  ['stopped', poll, 7, { messages: 7, pollSeconds: 100, seconds: 100 }],
  ['stopped', ahead, 7, { messages: 7, pollSeconds: 0, seconds: 0 }],
  ['stopped', poll, undefined, { messages: undefined, pollSeconds: undefined, seconds: undefined }],
  ['hibernated', poll, 7, { messages: 7, pollSeconds: 100, seconds: 100 }],
  ['never run', {}, 0, { messages: 0, pollSeconds: 0, seconds: 0 }],
  ['never run', {}, 7, { messages: 7, pollSeconds: undefined, seconds: undefined }],
  // Another stage is 900 s behind.
  ['failing', poll, 0, { messages: 0, pollSeconds: 0, seconds: 900 }],
  ['failing', poll, 7, { messages: 7, pollSeconds: 100, seconds: 900 }],
  ['failing', {}, 7, { messages: 7, pollSeconds: undefined, seconds: 900 }],
  ['failing', poll, undefined, { messages: 3, pollSeconds: 120, seconds: 900 }],
])(
  'the lag of a %s workgroup with the poll %o and %s messages in its stream',
  (state, before, messages, lag) => {
    const found = lagFromStream({ state, poll: before, lagSeconds: 900 }, messages, nowMs);
    const { lagMessages, lagSeconds } = found.poll;
    expect({ messages: lagMessages, pollSeconds: lagSeconds, seconds: found.lagSeconds }).toEqual(lag);
  },
);
