import { expect, test } from 'vitest';
import {
  ExactChange,
  ExactDuration,
  ExactPercent,
  ExactPercentBeside,
  ExactPower,
  ExactShare,
} from '../../src/web/parts/exact-number.tsx';
import { renderPart } from './support/render-part.ts';

test.each([
  [0.714, '71 % {0.714}'],
  [0.9961, '99.6 % {0.9961}'],
  [1, '100 % {1}'],
  [0, '0 % {0}'],
  [null, '–'],
])('the share %s', (share, words) => {
  expect(renderPart(ExactShare, { share }).lines).toEqual([words]);
});

test.each([
  [4.23, '+4.2 % {4.23}'],
  [-12.4, '-12 % {-12.4}'],
  [0, '0.0 % {0}'],
  [null, '–'],
])('%s percent with their sign', (percent, words) => {
  expect(renderPart(ExactPercent, { percent }).lines).toEqual([words]);
});

test.each([
  [-1.44, '1.4 % below {-1.44}'],
  [12, '12 % above {12}'],
  [0.01, 'equal to {0.01}'],
])('%s percent beside a reference', (percent, words) => {
  expect(renderPart(ExactPercentBeside, { percent }).lines).toEqual([words]);
});

test.each([
  [104, 100, ['4 % more than {4}']],
  [75, 100, ['25 % less than {-25}']],
  [100, 100, ['as much as {0}']],
  [-50, -100, ['50 % more than {50}']],
  [100, 0, []],
])('the change to %s from %s', (value, reference, lines) => {
  expect(renderPart(ExactChange, { value, reference }).lines).toEqual(lines);
});

test('power and time have units that fit, and the exact W and ms', () => {
  expect(renderPart(ExactPower, { watts: 1_234.5 }).lines).toEqual(['1.23 kW {1234.5}']);
  expect(renderPart(ExactDuration, { ms: 7_512_000 }).lines).toEqual(['2 h 5 min {7512000}']);
});

test('each kind of number has a class of its own', () => {
  const classes = [
    renderPart(ExactShare, { share: 1 }),
    renderPart(ExactPercent, { percent: 1 }),
    renderPart(ExactPercentBeside, { percent: 1 }),
    renderPart(ExactChange, { value: 1, reference: 2 }),
    renderPart(ExactPower, { watts: 1 }),
    renderPart(ExactDuration, { ms: 1 }),
  ].map(({ elements }) => elements('data')[0]!.class);
  expect(classes).toEqual(
    ['share', 'percent', 'percent', 'percent', 'power', 'duration'].map((kind) => `exact-${kind}`),
  );
});
