import { expect, test } from 'vitest';
import { SECOND_MS } from '../../src/lib/time.ts';
import { currentLag, lagFromStream } from '../../src/operate/current-lag.ts';
import type { WorkgroupState } from '../../src/operate/workgroup-state.ts';
import { emptyStatus, type WorkgroupStatus } from '../../src/pipeline/workgroup-status.ts';

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

const lastError = { code: 'X', message: 'x', atMs: nowMs - 5 * SECOND_MS };
const trouble = (stage: 'open' | 'queue' | 'poll' | 'publish' | 'maintain') => [
  { workgroupId: 'a', stage, state: 'failing' as const, sinceMs: nowMs - 40 * SECOND_MS, message: 'x' },
];

test.each<[what: string, status: Partial<WorkgroupStatus>, lag: ReturnType<typeof currentLag>]>([
  ['nothing fails', { poll }, { poll, lagSeconds: 120 }],
  [
    'the poll fails',
    { poll: { ...poll, lastError } },
    { poll: { ...poll, lastError, lagSeconds: 220 }, lagSeconds: 220 },
  ],
  [
    'the poll fails, and no message waited before',
    { poll: { ...poll, lagMessages: 0, lagSeconds: 0, lastError } },
    { poll: { ...poll, lagMessages: undefined, lagSeconds: 100, lastError }, lagSeconds: 100 },
  ],
  [
    'the poll has never succeeded',
    { poll: { failingSinceMs: nowMs - 60 * SECOND_MS, lastError } },
    {
      poll: { failingSinceMs: nowMs - 60 * SECOND_MS, lastError, lagMessages: undefined, lagSeconds: 60 },
      lagSeconds: 60,
    },
  ],
  [
    'the publication fails',
    { poll, publish: { lastSuccessAtMs: 0, lastError } },
    { poll, lagSeconds: 1_000 },
  ],
  ['the roll-up fails', { poll, rollup: { lastSuccessAtMs: 0, lastError } }, { poll, lagSeconds: 1_000 }],
  ['another stage is in trouble', { poll, troubles: trouble('maintain') }, { poll, lagSeconds: 120 }],
  ...(['open', 'queue', 'poll'] as const).map(
    (stage): [string, Partial<WorkgroupStatus>, ReturnType<typeof currentLag>] => [
      `${stage} is in trouble`,
      { poll, troubles: trouble(stage) },
      { poll: { ...poll, lagSeconds: 220 }, lagSeconds: 220 },
    ],
  ),
])('the lag while %s', (_, status, lag) => {
  expect(currentLag({ ...emptyStatus('a', nowMs), ...status }, nowMs)).toEqual(lag);
});
