import { expect, test } from 'vitest';
import type { Explained, ExplainedSource } from '../../src/web/facts/answers.ts';
import { CorrectionForm, type Draft } from '../../src/web/pages/correction-form.tsx';
import { renderPart } from './support/render-part.ts';

const explained = {
  day: '2026-05-17',
  start: '2026-05-16T22:00:00.000Z',
  end: '2026-05-17T22:00:00.000Z',
} as Explained;
const source = { result: { energyWh: 12_345 } } as ExplainedSource;
const whole = { from: explained.start, to: explained.end };

const drawn = (draft: Draft, changed: object = {}) =>
  renderPart(CorrectionForm, {
    draft,
    explained,
    source,
    onClose: () => undefined,
    onDone: () => undefined,
    ...changed,
  });
const rest = [
  'Reason (everybody who can read the day can read it)[input: ]',
  '[Show what would change][Cancel]',
];
/** The times of a list, as a person reads them. */
const timesOf = (line: string | undefined) => line!.split(/ (?!\()/);

test('an undo needs only a reason', () => {
  expect(drawn({ kind: 'undo', correction: 7 }).lines).toEqual(['Undo correction 7', ...rest]);
});

test('the energy of a day begins with what is reported', () => {
  expect(drawn({ kind: 'set_day' }).lines).toEqual([
    'Set the energy of the day',
    'Energy of Sun, May 17, 2026, Wh[input: 12345]',
    ...rest,
  ]);
  expect(drawn({ kind: 'set_day' }, { source: { result: null } }).lines[1]).toBe(
    'Energy of Sun, May 17, 2026, Wh[input: ]',
  );
});

test('one reading is left out without a choice of its time', () => {
  const draft: Draft = { kind: 'exclude', from: '2026-05-17T08:15:07.000Z', to: '2026-05-17T08:15:07.001Z' };
  expect(drawn(draft).lines).toEqual([
    'Leave readings out',
    'The reading of 10:15:07 is left out, now and whenever it comes again.',
    ...rest,
  ]);
});

test('a time is chosen in quarters of an hour of the day, from its beginning to its end', () => {
  const part = drawn({ kind: 'exclude', ...whole });
  const { lines } = part;
  expect([lines[0], lines[1], lines[3], ...lines.slice(5)]).toEqual([
    'Leave readings out',
    'From (Europe/Berlin)',
    'To',
    'All readings in this time are left out, also those that come later.',
    ...rest,
  ]);
  const [from, to] = [timesOf(lines[2]), timesOf(lines[4])];
  expect([from.length, from[0], from[1], from.at(-1)]).toEqual([96, '00:00', '00:15', '23:45']);
  expect([to.length, to[0], to.at(-2), to.at(-1)]).toEqual([96, '00:15', '23:45', '*24:00']);
  expect(part.elements('option')[0]!.value).toBe('2026-05-16T22:00:00.000Z');
  expect(part.elements('option').at(-1)!.value).toBe('2026-05-17T22:00:00.000Z');
});

test('a day of 23 hours has no times between 2 and 3 o’clock', () => {
  const spring = { day: '2026-03-29', start: '2026-03-28T23:00:00.000Z', end: '2026-03-29T22:00:00.000Z' };
  const { lines } = drawn({ kind: 'exclude', from: spring.start, to: spring.end }, { explained: spring });
  expect(timesOf(lines[2])).toHaveLength(92);
  expect(timesOf(lines[2]).slice(6, 10)).toEqual(['01:30', '01:45', '03:00', '03:15']);
});

test('on a day of 25 hours a time that comes twice has its offset', () => {
  const autumn = { day: '2026-10-25', start: '2026-10-24T22:00:00.000Z', end: '2026-10-25T23:00:00.000Z' };
  const { lines } = drawn({ kind: 'exclude', from: autumn.start, to: autumn.end }, { explained: autumn });
  expect(timesOf(lines[2])).toHaveLength(100);
  expect(timesOf(lines[2]).slice(7, 9)).toEqual(['01:45', '02:00 (+02:00)']);
  expect(timesOf(lines[2]).slice(11, 17)).toEqual([
    '02:45 (+02:00)',
    '02:00 (+01:00)',
    '02:15 (+01:00)',
    '02:30 (+01:00)',
    '02:45 (+01:00)',
    '03:00',
  ]);
});

test('an estimate can also replace what was measured', () => {
  const { lines } = drawn({ kind: 'fill', ...whole });
  expect([lines[0], ...lines.slice(5)]).toEqual([
    'Estimate what is missing',
    'The energy is estimated from comparable days.',
    '[checkbox: false]Replace what was measured, too',
    ...rest,
  ]);
});
