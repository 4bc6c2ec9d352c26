import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { PipelineStatus } from '../../src/web/facts/answers.ts';
import { PipelinePage } from '../../src/web/pages/pipeline-page.tsx';
import { healthyStatus } from './support/healthy-status.ts';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

type Finding = PipelineStatus['findings'][number];
const finding: Finding = {
  severity: 'attention',
  about: 'gap',
  message: '1 gap of the stream could not be read',
  since: null,
  path: null,
};

const drawn = (changed: Partial<PipelineStatus>) =>
  renderPart(PipelinePage, {}, { status: { ...healthyStatus, ...changed } });
/** The lines of the state, which is between the title and the stages. */
const stateOf = (changed: Partial<PipelineStatus>) => {
  const { lines } = drawn(changed);
  return lines.slice(1, lines.indexOf('<State>'));
};
const written = 'It wrote this state just now <May 17, 2026, 11:59 (Europe/Berlin)>.';

test('the page has the state, the stages, gaps, backfills, the quarantine and imports', () => {
  const { lines } = drawn({});
  expect(lines.slice(0, 5)).toEqual([
    'Pipeline',
    'All is well.',
    `The worker is running. ${written}`,
    '<State>',
    'From the stream to the report',
  ]);
  expect(lines.slice(-9)).toEqual([
    ...['Gaps of the stream', 'Reading the gaps …'],
    ...['Backfills', '[Read the past again]', 'Reading the backfills …'],
    ...['Quarantine', 'Reading the quarantine …', 'Imports', 'Reading the imports …'],
  ]);
});

test('the parts below do not wait for the state', () => {
  expect(renderPart(PipelinePage, {}).lines.slice(0, 3)).toEqual([
    'Pipeline',
    'Reading the state of the pipeline …',
    'Gaps of the stream',
  ]);
});

test('with a token of some devices only their quarantine is shown', () => {
  const workgroup = { id: 'home', maySeeAll: false, mayCorrect: true, mayOperate: true, mayAudit: true };
  const { lines } = renderPart(PipelinePage, {}, { status: healthyStatus }, { workgroup });
  expect(lines).toEqual(['Pipeline', 'Quarantine', 'Reading the quarantine …']);
});

test.each([
  ['good', 'good'],
  ['attention', 'doubtful'],
  ['bad', 'bad'],
] as const)('the health %s looks %s', (health, sign) => {
  expect(drawn({ health }).elements('section')[0]).toEqual({
    class: `state state-${sign}`,
    'aria-label': 'State',
  });
});

test('the worst finding is the title, and the others have their setting and their time', () => {
  const others: Finding[] = [
    { ...finding, message: 'the limit is too low', path: 'devices.garage.maxPower' },
    { ...finding, message: 'an input is away', since: '2026-05-17T07:00:00.000Z' },
  ];
  expect(stateOf({ reason: finding.message, findings: [finding, ...others], state: 'failing' })).toEqual([
    '1 gap of the stream could not be read.',
    'The limit is too low. devices.garage.maxPower',
    'An input is away. 3 hours ago <May 17, 2026, 09:00 (Europe/Berlin)>',
    `The worker is failing. ${written}`,
  ]);
});

test.each([
  [8, []],
  [9, ['And 1 more.']],
])('eight of %i other findings are listed', (count, more) => {
  const findings = Array.from({ length: count }, (_, index) => ({ ...finding, message: `finding ${index}` }));
  expect(stateOf({ findings }).slice(1, -1)).toEqual([
    ...findings.slice(0, 8).map(({ message }) => `${message.replace('f', 'F')}.`),
    ...more,
  ]);
});

test('a worker that has never run has written no state', () => {
  expect(stateOf({ state: 'never run', updatedAt: null, reason: 'no worker has run yet' })).toEqual([
    'No worker has run yet.',
    'The worker has never run.',
  ]);
});
