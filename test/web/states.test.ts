import { expect, test } from 'vitest';
import type { Failure } from '../../src/web/facts/ask-service.ts';
import type { Answered } from '../../src/web/facts/use-answer.ts';
import { Empty, Failed, Loading, Shown } from '../../src/web/parts/states.tsx';
import { renderPart } from './support/render-part.ts';

const busy: Failure = { kind: 'busy', message: 'It tries again.' };
const shown = (changed: Partial<Answered<number>>, height?: number) =>
  renderPart(Shown<number>, {
    of: { answer: undefined, failure: undefined, isLoading: false, refresh: () => undefined, ...changed },
    what: 'the gaps',
    children: (answer) => `The answer is ${answer}.`,
    ...(height !== undefined && { height }),
  });

test('what is awaited keeps its place', () => {
  const part = renderPart(Loading, { what: 'the gaps' });
  expect(part.lines).toEqual(['Reading the gaps …']);
  expect(part.elements('div')).toEqual([{ class: 'loading', style: 'min-height:120px;', role: 'status' }]);
});

test('an empty part says why', () => {
  expect(renderPart(Empty, { title: 'No gap', children: 'All was read.' }).lines).toEqual([
    'No gap',
    'All was read.',
  ]);
  const short = renderPart(Empty, { title: 'No gap' });
  expect(short.lines).toEqual(['No gap']);
  expect(short.elements('div')).toEqual([{ class: 'empty' }]);
});

test.each<[Failure['kind'], string]>([
  ['signed-out', 'You are signed out'],
  ['forbidden', 'Your token does not show this'],
  ['not-found', 'There is nothing here'],
  ['refused', 'This cannot be shown'],
  ['busy', 'The service is busy'],
  ['unreachable', 'The service cannot be reached'],
])('the failure %s has a title and its message', (kind, title) => {
  const part = renderPart(Failed, { failure: { kind, message: 'This is why.' } });
  expect(part.lines).toEqual([title, 'This is why.']);
  expect(part.elements('div')[0]).toEqual({ class: 'empty failed', role: 'alert' });
});

test('what can be tried again has a button', () => {
  expect(renderPart(Failed, { failure: busy, onRetry: () => undefined }).lines).toEqual([
    'The service is busy',
    'It tries again.',
    '[Try again]',
  ]);
});

test('an answer is shown, also 0, and stays while there is no newer one', () => {
  expect(shown({ answer: 42 }).lines).toEqual(['The answer is 42.']);
  expect(shown({ answer: 0, failure: busy }).lines).toEqual([
    'What you see may be old. It tries again.',
    'The answer is 0.',
  ]);
});

test('without an answer a failure can be tried again', () => {
  expect(shown({ failure: busy }).lines).toEqual(['The service is busy', 'It tries again.', '[Try again]']);
});

test('without an answer and without a failure it is awaited', () => {
  expect(shown({}).lines).toEqual(['Reading the gaps …']);
  expect(shown({}).elements('div')[0]!.style).toBe('min-height:120px;');
  expect(shown({}, 300).elements('div')[0]!.style).toBe('min-height:300px;');
});
