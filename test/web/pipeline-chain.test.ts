import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { PipelineStatus } from '../../src/web/facts/answers.ts';
import { PipelineChain } from '../../src/web/pages/pipeline-chain.tsx';
import { healthyStatus } from './support/healthy-status.ts';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

type Stages = PipelineStatus['stages'];
const { poll, rollup, publish, maintain } = healthyStatus.stages;

const drawn = (changed: Partial<PipelineStatus>) =>
  renderPart(PipelineChain, { status: { ...healthyStatus, ...changed } });
const withStages = (stages: Partial<Stages>) => drawn({ stages: { ...healthyStatus.stages, ...stages } });
/** The sentence below the title. */
const sentenceOf = ({ lines }: { lines: string[] }) => lines[1];

test('the four stages are in the order of a message, each with its state, its last success and its numbers', () => {
  expect(drawn({}).lines).toEqual([
    'From the stream to the report',
    'The stream is read to its end. 3,600 messages landed in the last hour. The newest reading was measured 4 minutes ago. The report was last published 3 minutes ago.',
    'Read',
    '[good] works',
    'Last success',
    'just now <May 17, 2026, 11:59 (Europe/Berlin)>',
    'Transport',
    'REST',
    'Behind',
    '0 messages',
    'Land',
    '[good] works',
    'Last success',
    'just now <May 17, 2026, 11:59 (Europe/Berlin)>',
    'Last hour',
    '3,600 messages',
    'Stored',
    '120,000',
    'Not used',
    '4',
    'Roll up',
    '[good] works',
    'Last success',
    '2 minutes ago <May 17, 2026, 11:58 (Europe/Berlin)>',
    'Batch',
    '17',
    'Publish',
    '[good] works',
    'Last success',
    '3 minutes ago <May 17, 2026, 11:57 (Europe/Berlin)>',
    'Generation',
    '1,012',
    'Maintenance, which compacts files and deletes old ones: [good] works, last done 3 hours ago <May 17, 2026, 09:00 (Europe/Berlin)>.',
  ]);
});

test('what has never run has dashes, and no sentence about it', () => {
  const never = { lastSuccessAt: null, lastError: null, failingSince: null };
  const unknown = drawn({
    stages: {
      poll: {
        ...never,
        nextOffset: null,
        transport: null,
        upToDate: null,
        lagMessages: null,
        lagSeconds: null,
      },
      rollup: { ...never, batchId: null },
      publish: { ...never, generation: null },
      maintain: never,
    },
    lastHour: null,
    lagSeconds: null,
    newestReadingAt: null,
    quarantined: 0,
    storedMessages: 0,
  });
  expect(unknown.lines).toEqual([
    'From the stream to the report',
    'Nothing has been read from the stream yet.',
    ...['Read', '[calm] not done yet', 'Last success', '–', 'Transport', '–', 'Behind', '–'],
    ...['Land', '[calm] not done yet', 'Last success', '–'],
    ...['Last hour', '–', 'Stored', '0', 'Not used', '0'],
    ...['Roll up', '[calm] not done yet', 'Last success', '–', 'Batch', '–'],
    ...['Publish', '[calm] not done yet', 'Last success', '–', 'Generation', '–'],
    'Maintenance, which compacts files and deletes old ones: [calm] not done yet.',
  ]);
});

test.each([
  [{ lagMessages: 1_200, lagSeconds: 90 }, ': 1,200 messages, 1 min behind'],
  [{ lagMessages: 1, lagSeconds: 0.9 }, ': 1 message behind'],
  [{ lagMessages: null, lagSeconds: 1 }, ': 1 s behind'],
  [{ lagMessages: null, lagSeconds: null }, ''],
])('a stream that is not read to its end: %o', (lag, words) => {
  expect(sentenceOf(withStages({ poll: { ...poll, ...lag, upToDate: false } }))).toMatch(
    `The stream is not read to its end yet${words}. 3,600 messages landed`,
  );
});

test('a stream that a socket sends has the name of the socket', () => {
  expect(withStages({ poll: { ...poll, transport: 'socket' } }).lines.slice(6, 8)).toEqual([
    'Transport',
    'socket.io',
  ]);
});

test.each([
  [60, ' The slowest stage is 1 min behind.'],
  [59, ''],
])('a delay of %i s of all stages', (lagSeconds, words) => {
  expect(sentenceOf(drawn({ lagSeconds }))).toBe(`${sentenceOf(drawn({}))}${words}`);
});

test('a stage that fails says for how long and why, and is marked', () => {
  const lastError = { at: '2026-05-17T09:59:00.000Z', message: 'the disk is full' };
  const failed = withStages({
    rollup: { ...rollup, lastError, failingSince: '2026-05-17T08:00:00.000Z' },
    publish: { ...publish, lastError },
  });
  expect(failed.lines.slice(20, 27)).toEqual([
    'Roll up',
    '[bad] has failed for 2 hours',
    'Last success',
    '2 minutes ago <May 17, 2026, 11:58 (Europe/Berlin)>',
    'Batch',
    '17',
    'The disk is full.',
  ]);
  expect(failed.elements('li').map((link) => link.class)).toEqual([
    'link',
    'link',
    'link failing',
    'link failing',
  ]);
});

test('a failure of reading is one of landing, too, and one of less than a minute has no duration', () => {
  const { lines } = withStages({
    poll: {
      ...poll,
      lastError: { at: '2026-05-17T09:59:59.000Z', message: 'The service is away.' },
      failingSince: '2026-05-17T09:59:30.000Z',
    },
  });
  expect(lines.filter((line) => line === '[bad] fails')).toHaveLength(2);
  expect(lines.filter((line) => line === 'The service is away.')).toHaveLength(2);
});

test('maintenance that fails has its last success and its error', () => {
  const lastError = { at: '2026-05-17T09:59:59.000Z', message: 'no space left' };
  const failed = { ...maintain, lastError, failingSince: null };
  expect(withStages({ maintain: failed }).lines.at(-1)).toBe(
    'Maintenance, which compacts files and deletes old ones: [bad] fails, last done 3 hours ago <May 17, 2026, 09:00 (Europe/Berlin)>. No space left.',
  );
});
