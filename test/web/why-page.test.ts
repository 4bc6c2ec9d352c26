import { expect, test } from 'vitest';
import { WhyPage } from '../../src/web/pages/why-page.tsx';
import { makeDay } from './support/make-day.ts';
import { makeExplained } from './support/make-explained.ts';
import { renderPart } from './support/render-part.ts';

const [GARAGE, ROOF] = ['0b0e7c1e-0000-4000-8000-000000000001', '0b0e7c1e-0000-4000-8000-000000000002'];
const energyPath = 'daily-energy?startDate=2026-05-11&endDate=2026-05-17';
const detailsPath = (day: string, device = GARAGE) =>
  `daily-energy/details?startDate=${day}&endDate=${day}&groupBy=source&devices=${device}`;
const explainPath = (source: string) =>
  `daily-energy/explain?device=${GARAGE}&day=2026-05-16&source=${source}`;
const shown = (query: Record<string, string>, answers: Record<string, unknown>) =>
  renderPart(WhyPage, { query }, answers).lines;
const statuses = { [GARAGE]: { name: 'Garage 10' }, [ROOF]: { name: 'Garage 9' } };
const known = { 'device-status': statuses, [energyPath]: {} };
const query = { device: GARAGE, day: '2026-05-16' };

test('without any device nothing is explained', () => {
  expect(shown({}, { 'device-status': {}, [energyPath]: {} })).toEqual([
    'Why this number',
    'No devices',
    'Nothing has been measured yet.',
  ]);
  expect(shown({}, {}).slice(3)).toEqual(['Device', 'Reading devices …']);
});

test('the first device by name is explained on today, also one without a status', () => {
  const lines = shown(
    {},
    { ...known, [energyPath]: { '2026-05-15': { '0a0e7c1e-0000-4000-8000-000000000009': 5 } } },
  );
  expect(lines).toEqual([
    'Why this number',
    '{#/home/why?device=0a0e7c1e-0000-4000-8000-000000000009&day=2026-05-16} <Day before>Sun, May 17, 2026 <Day>',
    '[date: 2026-05-17] <Day>',
    'Device',
    '*0a0e7c1e Garage 9 Garage 10',
    'Reading the explanation …',
  ]);
});

test('the sources with the worst flags come first, and the first one is explained', () => {
  const details = {
    '2026-05-16': {
      [`${GARAGE}.s10`]: makeDay(1_000),
      [`${GARAGE}.s9`]: makeDay(2_000, { flags: ['reset'] }),
      [`${GARAGE}.total`]: makeDay(null, { flags: ['gap'] }),
    },
  };
  const explained = makeExplained({ takenIn: { batch: 'b', batchesWaiting: 1 } });
  const answers = { ...known, [detailsPath('2026-05-16')]: details, [explainPath('total')]: explained };
  const lines = shown(query, answers);
  expect(lines.slice(4, 8)).toEqual([
    'Garage 9 *Garage 10',
    'total – △ {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&day=2026-05-16&source=total}s9 2.00 kWh {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&day=2026-05-16&source=s9}s10 1.00 kWh {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&day=2026-05-16&source=s10} <Source>',
    'New readings have landed and are not part of this number yet.',
    'total',
  ]);
  const chosen = renderPart(WhyPage, { query }, answers)
    .elements('a')
    .filter((link) => link['aria-current'] === 'true');
  expect(chosen.map(({ href }) => href)).toEqual([`#/home/why?device=${GARAGE}&day=2026-05-16&source=total`]);
  const none = { ...answers, [explainPath('total')]: makeExplained({ sources: [] }) };
  expect(shown(query, none).slice(6)).toEqual([]);
});

test('seven sources are a list, and one source is no choice', () => {
  const of = (count: number) => ({
    '2026-05-16': Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`${GARAGE}.s${index + 1}`, makeDay(index)]),
    ),
  });
  const lines = (count: number) =>
    shown(query, { ...known, [detailsPath('2026-05-16')]: of(count) }).slice(5);
  expect(lines(7)).toEqual([
    'Source',
    '*s1 0 Wh s2 1 Wh s3 2 Wh s4 3 Wh s5 4 Wh s6 5 Wh s7 6 Wh',
    'Reading the explanation …',
  ]);
  expect(lines(1)).toEqual(['Reading the explanation …']);
});
