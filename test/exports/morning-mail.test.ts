import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { attentionLines } from '../../src/exports/morning-attention.ts';
import type { DeviceWeeks, MorningFacts } from '../../src/exports/morning-facts.ts';
import { writeMorningMail } from '../../src/exports/morning-mail.ts';
import { addDays } from '../../src/lib/time.ts';

const day = '2026-11-19';

/** A device with its energy on the day, and its usual energy. */
function device(name: string, wh: number | null, about: Partial<DeviceWeeks> & { usual?: number } = {}) {
  const { usual, ...facts } = about;
  const weeks = [7, 14, 21, 28].map((before) => [addDays(day, -before), usual ?? null]);
  const energies = Object.fromEntries([[day, wh], ...weeks]);
  return { device: name, energies, flags: [], coverage: 1, lastDay: null, ...facts };
}

function factsOf(facts: Partial<MorningFacts>): MorningFacts {
  const { workgroups } = configSchema.parse({ workgroups: [{ id: 'home' }] });
  const none = { balances: [], devices: [], states: [], budgets: [], gaps: [] };
  return {
    day,
    workgroup: workgroups[0]!,
    publishedAtMs: Date.parse('2026-11-20T05:30Z'),
    ...none,
    ...facts,
  };
}

/** The cells of the rows of a table in the mail. */
function rowsOf(facts: Partial<MorningFacts>, title: string): string[][] {
  const { text } = writeMorningMail(factsOf(facts), {});
  const block = text.split('\n\n').find((one) => one.startsWith(`${title} `));
  return (block?.split('\n').slice(1) ?? []).map((line) => line.trim().split(/ {2,}/));
}

test('devices are in the order of their energy, and devices with unknown energy come last', () => {
  const devices = [
    device('d', null),
    device('b', -3_000),
    device('e', 20),
    device('a', null),
    device('c', 20),
  ];
  expect(rowsOf({ devices }, 'Devices')).toEqual([
    ['c', '0.02 kWh', 'unknown'],
    ['e', '0.02 kWh', 'unknown'],
    ['b', '-3.00 kWh', 'unknown'],
    ['a', 'unknown', 'unknown'],
    ['d', 'unknown', 'unknown'],
  ]);
});

test('a difference is the percent of the usual energy, if both are known and the usual is not 0', () => {
  const devices = [
    device('more', 1_500, { usual: 1_000 }),
    device('same', 1_000, { usual: 1_000 }),
    device('less', 750, { usual: 1_000 }),
    device('none usual', 500, { usual: 0 }),
    device('negative', -500, { usual: -1_000 }),
    device('unknown', null, { usual: 1_000 }),
  ];
  expect(rowsOf({ devices }, 'Devices')).toEqual([
    ['more', '1.50 kWh', '1.00 kWh', '+50 %'],
    ['same', '1.00 kWh', '1.00 kWh', '0 %'],
    ['less', '0.75 kWh', '1.00 kWh', '−25 %'],
    ['none usual', '0.50 kWh', '0.00 kWh'],
    ['negative', '-0.50 kWh', '-1.00 kWh', '+50 %'],
    ['unknown', 'unknown', '1.00 kWh'],
  ]);
});

test('energy of a part of the day is not compared', () => {
  const devices = ['partial', 'incomplete', 'gap'].map((flag, index) =>
    device(flag, 1_000 - index, { usual: 2_000, flags: [flag] }),
  );
  devices.push(device('none', null, { usual: 2_000, flags: ['partial'] }));
  expect(rowsOf({ devices }, 'Devices').map(([name, , , difference]) => [name, difference])).toEqual([
    ['partial', 'known in part'],
    ['incomplete', 'known in part'],
    ['gap', '−50 %'],
    ['none', undefined],
  ]);
  const budgets = [
    { site: 'north', actualWh: 900, budgetWh: 1_000, partial: false },
    { site: 'south', actualWh: 900, budgetWh: 1_000, partial: true },
  ];
  expect(rowsOf({ budgets }, 'Meters against budget').map(([, , , difference]) => difference)).toEqual([
    '−10 %',
    'known in part',
  ]);
});

test('a role has a row if a source has it, or if there is such energy', () => {
  const balance = (gridImportWh: number, parts: string[]) => ({
    ...{ productionWh: 0, consumptionWh: null, gridImportWh, gridExportWh: 0, autarky: 0.996, missing: [] },
    parts: parts.map((role) => ({ device: 'a', role })),
  });
  const balances = [
    { name: 'house', days: { [day]: balance(500, ['production']) } },
    { name: 'barn', days: { [day]: balance(0, ['grid_export']), [addDays(day, -7)]: balance(500, []) } },
  ];
  const names = (title: string) => rowsOf({ balances }, title).map(([name, energy]) => [name, energy]);
  expect(names('house')).toEqual([
    ['production', '0.00 kWh'],
    ['grid import', '0.50 kWh'],
    ['autarky', '100 %'],
  ]);
  expect(names('barn')).toEqual([
    ['grid import', '0.00 kWh'],
    ['grid export', '0.00 kWh'],
    ['autarky', '100 %'],
  ]);
});

test('30 devices and ten lines of attention are shown, and of more the number', () => {
  const many = (count: number, flags: string[] = []) => ({
    devices: Array.from({ length: count }, (_, index) => device(`number ${index}`, 1_000, { flags })),
  });
  expect(rowsOf(many(30), 'Devices')).toHaveLength(30);
  expect(rowsOf(many(31), 'Devices').at(-1)).toEqual(['and 1 more']);
  expect(attentionLines(factsOf(many(10, ['gap']))).at(-1)).toBe('number 9: flagged gap');
  expect(attentionLines(factsOf(many(11, ['gap'])))).toHaveLength(10);
  expect(attentionLines(factsOf(many(11, ['gap']))).at(-1)).toBe('and 2 more');
  const subject = (count: number) => writeMorningMail(factsOf(many(count, ['gap'])), {}).subject;
  expect([subject(0), subject(2)]).toEqual([
    `Energy of ${day}, home`,
    `Energy of ${day}, home: 2 to look at`,
  ]);
});

test('a day that is measured in part says how much, rounded down, and repairs of a meter are not named', () => {
  const devices = [
    device('a', 5, { flags: ['partial', 'estimated'], coverage: 0.999 }),
    device('b', 5, { flags: ['contradicted', 'reset'], coverage: 1 }),
    device('c', 5, { flags: ['reset', 'spike', 'jitter'], coverage: 0.5 }),
    device('d', null, { flags: ['unavailable'], lastDay: '2026-11-12' }),
  ];
  expect(attentionLines(factsOf({ devices }))).toEqual([
    'd: energy unknown, last known on 2026-11-12; flagged unavailable',
    'a: flagged partial, 99 % of the day is measured',
    'b: flagged contradicted',
  ]);
});
