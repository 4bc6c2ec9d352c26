import { expect, test } from 'vitest';
import { DrawnGaps } from '../../src/web/pictures/gap-line.tsx';
import { renderPart } from './support/render-part.ts';

const at = (hour: number) => new Date(Date.UTC(2026, 4, 16, hour)).toISOString();
type Gap = Parameters<typeof DrawnGaps>[0]['gaps'][number];
const gap = (id: number, from: string | null, to: string | null, changed: Partial<Gap> = {}): Gap => ({
  ...{ id, from, to, detectedAt: at(12), available: 'all' },
  ...changed,
});
const drawn = (nowHour: number, ...gaps: Gap[]) =>
  renderPart(DrawnGaps, { gaps, width: 420, nowMs: Date.parse(at(nowHour)) });
const bars = (picture: ReturnType<typeof drawn>) =>
  picture
    .elements('rect')
    .filter(({ class: name }) => name!.startsWith('gap gap-'))
    .map(({ class: name, x, width, fill }) => `${name}: ${x} ${width} ${fill}`);

test('the line begins a twentieth before the first gap and ends now', () => {
  // From 00:00 to 20:00, so it begins at 23:00: 20 pixels are an hour.
  const picture = drawn(20, gap(1, at(4), at(6)), gap(2, at(0), at(1)));
  expect(bars(picture)).toEqual([
    'gap gap-all: 100 40 url(#gap-hatch)',
    'gap gap-all: 20 20 url(#gap-hatch)',
  ]);
  // Midnight in UTC is 02:00 in Berlin.
  expect(picture.lines).toEqual(['May 16, 2026, 01:00now']);
  expect(picture.elements('svg')).toMatchObject([{ width: '420', 'aria-hidden': 'true' }]);
});

test('a gap that is lost is solid, and all others are hatched', () => {
  const picture = drawn(
    20,
    ...(['all', 'part', 'nothing', 'unknown'] as const).map((available, index) =>
      gap(index, at(index), at(index + 1), { available }),
    ),
  );
  expect(bars(picture)).toEqual([
    'gap gap-all: 20 20 url(#gap-hatch)',
    'gap gap-part: 40 20 url(#gap-hatch)',
    'gap gap-nothing: 60 20 undefined',
    'gap gap-unknown: 80 20 url(#gap-hatch)',
  ]);
});

test('a short gap can be seen', () => {
  expect(bars(drawn(20, gap(1, at(0), new Date(Date.UTC(2026, 4, 16, 0, 1)).toISOString())))).toEqual([
    'gap gap-all: 20 4 url(#gap-hatch)',
  ]);
});

test('a gap without a begin is where it ends, and one without an end ends where it was detected', () => {
  expect(bars(drawn(20, gap(1, at(0), null), gap(2, null, at(5)), gap(3, null, null)))).toEqual([
    'gap gap-all: 20 240 url(#gap-hatch)',
    'gap gap-all: 120 4 url(#gap-hatch)',
    'gap gap-all: 260 4 url(#gap-hatch)',
  ]);
});

test('a gap that begins now has a place', () => {
  expect(bars(drawn(12, gap(1, at(12), at(12))))).toEqual(['gap gap-all: 0 4 url(#gap-hatch)']);
});
