import { expect, test } from 'vitest';
import type { Explained, ExplainedSource } from '../../src/web/facts/answers.ts';
import { WhySource } from '../../src/web/pages/why-source.tsx';
import { makeExplained, makeSource } from './support/make-explained.ts';
import { renderPart } from './support/render-part.ts';

const draw = (source: Partial<ExplainedSource>, explained: Partial<Explained> = {}) =>
  renderPart(WhySource, {
    ...{ explained: makeExplained(explained), source: makeSource(source), refresh: () => undefined },
  });
/** The lines between the one that is a title, and the next title. */
function section(lines: readonly string[], title: string, next: string): string[] {
  return lines.slice(lines.indexOf(title) + 1, lines.indexOf(next));
}

test('the energy has its status, its field, its coverage and its flags', () => {
  const { lines } = draw({});
  expect(lines.slice(0, lines.indexOf('Readings and what became of them'))).toEqual([
    'total',
    'total',
    '500 Wh {500}',
    '500 Wh',
    'Status',
    'final <its period is closed>, version 1',
    'computed May 17, 2026, 00:05',
    'Read from',
    'meter.energy',
    'total energy',
    'Measured',
    '100 % {1} of the day',
    'all of the day',
    'Flags',
    'none',
  ]);
  expect(section(lines, 'The sum, written out', 'Corrections')).toEqual(['1,500 − 1,000 = 500 Wh']);
});

test('the only source of a device has the name of the device', () => {
  const nameOf = (name: string | null) => draw({ source: 'default' }, { name }).lines[1];
  expect([nameOf('Garage'), nameOf(null)]).toEqual(['Garage', 'Energy']);
});

test('a source without energy has no facts about it', () => {
  const { lines } = draw({ result: null });
  expect(lines.slice(0, 4)).toEqual(['total', 'total', 'no energy', 'Readings and what became of them']);
});

const event = (kind: ExplainedSource['events'][number]['kind'], text: string) => ({
  ...{ kind, text, from: '2026-05-16T08:00:00.000Z', to: '2026-05-16T08:15:00.000Z' },
  ...{ valueBefore: null, valueAfter: null, energyWh: 0 },
});
const flag = (name: string, reason: string) => ({
  flag: name,
  meaning: `meaning of ${name}`,
  reason,
  spans: [],
});

test('flags have their reason or their meaning, the worst first, and what they tell is told once', () => {
  const source = makeSource({
    flags: [flag('reset', 'it fell to zero'), flag('gap', '')],
    events: [event('reset', 'it fell to zero'), event('jitter', 'it fell by 1 Wh')],
  });
  const { lines } = draw(source);
  expect(lines.filter((line) => /^(gap|reset|jitter): /.test(line))).toEqual([
    'gap: meaning of gap <gap: power is missing for some time>',
    'reset: it fell to zero <reset: the register started again>',
    'jitter: it fell by 1 Wh',
  ]);
  expect(section(lines, 'What happened', 'The sum, written out')).toEqual(['jitter: it fell by 1 Wh']);
});

test('the coverage is not repeated if a flag tells it, and without other events there is no list of them', () => {
  const source = { flags: [flag('gap', 'all of the day')], events: [event('gap', 'all of the day')] };
  const { lines } = draw(source);
  expect(lines.filter((line) => line.includes('all of the day'))).toEqual([
    'gap: all of the day <gap: power is missing for some time>',
  ]);
  expect(lines).not.toContain('What happened');
});

test('a sum that is not the stored energy says so', () => {
  const sum = { ...makeSource({}).sum, agrees: false };
  expect(section(draw({ sum }).lines, 'The sum, written out', 'Corrections')).toEqual([
    '1,500 − 1,000 = 500 Wh',
    'This sum does not equal the stored energy. Newer readings are being computed.',
  ]);
});

const part = { role: 'production', negativeRole: null, part: 'whole', counts: true } as const;
const wholeDevice: NonNullable<Explained['wholeDevice']> = {
  ...{ rule: 'one_role', role: 'production', energyWh: 500, text: 'all of its role', flags: [] },
  sources: [
    { ...part, source: 'east', energyWh: 500, reason: 'its role is production' },
    { ...part, source: 'west', counts: false, energyWh: null, reason: 'it has no energy' },
  ],
};

test('a device of several sources says how each counts, and one of a single source says nothing', () => {
  expect(draw({}, { wholeDevice }).lines).toEqual(
    expect.arrayContaining([
      'How the device follows from its sources: all of its role',
      'east 500 Wh {500} – counts: its role is production',
      'west – <not known> – does not count: it has no energy',
    ]),
  );
  const alone = { ...wholeDevice, sources: wholeDevice.sources.slice(0, 1) };
  expect(draw({}, { wholeDevice: alone }).lines.join()).not.toContain('How the device follows');
});

const version: ExplainedSource['versions'][number] = {
  ...{ version: 1, energyWh: 500, method: 'total_energy', flags: [], coverage: 1 },
  ...{ computedAt: '2026-05-16T22:05:00.000Z', batch: 'b1', changes: [], batches: 0, causes: [], text: '' },
};

test('the versions are open if there are several', () => {
  const isOpen = (versions: ExplainedSource['versions']) =>
    draw({ versions })
      .elements('details')
      .map((details) => 'open' in details);
  expect(isOpen([version])).toEqual([false, false, false]);
  expect(isOpen([version, { ...version, version: 2 }])).toEqual([false, false, true]);
});

const reading = (fate: ExplainedSource['readings'][number]['fate'], minute: number) => ({
  ...{ time: new Date(Date.UTC(2026, 4, 16, 8, minute)).toISOString(), value: 5, fate, reason: null },
  ...{ text: null, indexWh: null, batch: 'b1', landedAt: null },
});

test('the picture says how many readings count, and where the energy is in it', () => {
  const sentenceOf = (
    fates: Array<Parameters<typeof reading>[0]>,
    method: NonNullable<ExplainedSource['result']>['method'] = 'total_energy',
  ) => {
    const result = { ...makeSource({}).result!, method };
    const { lines } = draw({ result, readings: fates.map(reading) });
    return section(lines, 'Readings and what became of them', 'The sum, written out')[0];
  };
  const register = 'The line is the register; the energy is its growth.';
  expect(sentenceOf(['used'])).toBe(`1 reading counts. ${register}`);
  expect(sentenceOf(['used', 'spike', 'used'])).toBe(`2 readings count, 1 reading does not. ${register}`);
  expect(sentenceOf(['spike', 'glitch'], 'power_curve')).toBe(
    '0 readings count, 2 readings do not. The line is the power; its area is the energy.',
  );
});
