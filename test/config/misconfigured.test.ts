import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { workgroupWarnings } from '../../src/config/config-warnings.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { readmeBlocks } from '../support/readme.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const register = { table: 'solar', field: 'total', method: 'total_energy', unit: 'kWh' };
const power = { table: 'solar', field: 'power', method: 'power_curve' };
type Settings = Record<string, unknown>;

function problemsOf(...energyStreams: Settings[]): Record<string, string> {
  return problemsOfWorkgroup({ energyStreams });
}
function problemsOfWorkgroup(settings: Settings): Record<string, string> {
  const parsed = workgroupSchema.safeParse({ id: 'home', ...settings });
  const problems = parsed.success ? [] : zodProblems(parsed.error);
  return Object.fromEntries(problems.map(({ path, message }) => [path, message]));
}
function warningsOf(settings: Settings): Record<string, string> {
  const warnings = workgroupWarnings(workgroupSchema.parse({ id: 'home', ...settings }));
  return Object.fromEntries(warnings.map(({ path, message }) => [path, message]));
}
const streamWarningsOf = (...energyStreams: Settings[]) => warningsOf({ energyStreams });

describe('a stream that cannot work is refused', () => {
  test.each([
    ['total_energy', 'mwh', '"mwh" is not a unit of energy; is it mWh or MWh?'],
    ['total_energy', 'KWH', '"KWH" is not a unit of energy; is it kWh?'],
    ['power_curve', ' kw', '" kw" is not a unit of power; is it kW?'],
    [
      'total_energy',
      'kW',
      'not a unit of energy but of power; use kWh if it is energy, or a method that reads power',
    ],
    ['power_curve', 'kWh', 'not a unit of power but of energy; use kW if it is power'],
    ['power_curve', 'kJ', 'not a unit of power but of energy; use a unit of power'],
    ['total_energy', 'kVA', '"kVA" is not a unit of energy; use one of mWh, Wh, kWh'],
  ])('%s in "%s"', (method, unit, message) => {
    expect(problemsOf({ ...register, method, unit })['energyStreams.0.unit']).toContain(message);
  });

  test.each([
    ['a modulus that is negative', { modulus: -1 }, 'modulus', 'expected number to be >0'],
    [
      'a jitter as large as the register',
      { modulus: 10, jitter: '10 kWh' },
      'jitter',
      'modulus 10 kWh = 10000 Wh',
    ],
    [
      'a register that ended beyond its size',
      { modulus: 1000, registerChanges: [{ device: DEVICE, at: '2024-01-01T00:00:00Z', final: 1200 }] },
      'registerChanges.0.final',
      '1200 is more than modulus 1000',
    ],
    [
      'a register that began too far below 0',
      { registerChanges: [{ device: DEVICE, at: '2024-01-01T00:00:00Z', final: 5, initial: -1e16 }] },
      'registerChanges.0.initial',
      'is more than 1000000000000000 Wh',
    ],
    [
      'two changes at one time',
      {
        registerChanges: [
          { device: DEVICE, at: '2024-01-01T00:00:00Z', final: 5 },
          { device: DEVICE, at: '2024-01-01T00:00:00Z', final: 7 },
        ],
      },
      'registerChanges.1.at',
      'must be later than the previous change',
    ],
    [
      'changes that are not in the order of time',
      {
        registerChanges: [
          { device: DEVICE, at: '2024-02-01T00:00:00Z', final: 5 },
          { device: DEVICE, at: '2024-01-01T00:00:00Z', final: 7 },
        ],
      },
      'registerChanges.1.at',
      'must be later than the previous change',
    ],
  ])('%s', (_what, settings, path, message) => {
    expect(problemsOf({ ...register, ...settings })).toEqual({
      [`energyStreams.0.${path}`]: expect.stringContaining(message),
    });
  });

  test('but not one at the end of what is possible', () => {
    const change = { device: DEVICE, at: '2024-01-01T00:00:00Z', final: 1000, initial: 1000 };
    const registerChanges = [change, { ...change, source: 'other' }];
    expect(problemsOf({ ...register, modulus: 1000, jitter: '999.9 kWh', registerChanges })).toEqual({});
    expect(problemsOf({ ...register, modulus: 1e12 })).toEqual({});
    expect(problemsOf({ ...register, modulus: 1.001e12 })).toEqual({
      'energyStreams.0.modulus': expect.stringContaining('is more than 1000000000000000 Wh'),
    });
  });

  test('a field that is read twice by one method', () => {
    expect(problemsOf(register, power, { ...register, unit: 'Wh' })).toEqual({
      'energyStreams.2.field':
        'solar.total is read twice by total_energy; remove one, or write as: <source> to make each its own source',
    });
    expect(problemsOf({ ...register, as: 'x' }, register, { ...register, as: 'y' })).toEqual({});
    expect(problemsOf({ ...register, as: 'x' }, { ...register, as: 'x' })).toEqual({
      'energyStreams.1.field': expect.stringContaining('read twice by total_energy, both as x; remove one'),
    });
  });

  test('two devices with the same id or name', () => {
    const devices = [
      { id: DEVICE, name: 'Garage' },
      { id: DEVICE.toUpperCase() },
      { id: DEVICE.replace('7', '8'), name: 'garage' },
    ];
    expect(problemsOfWorkgroup({ devices })).toEqual({
      'devices.1.id': `"${DEVICE}" is used twice`,
      'devices.2.name': '"garage" is used twice',
    });
  });
});

describe('a warning for settings that are allowed but probably a mistake', () => {
  test.each([
    [
      'settings of another method',
      { ...power, jitter: '1 Wh', modulus: 10_000, boundary: 'within_day', label: 'end', interval: '15m' },
      ['jitter', 'modulus', 'boundary', 'label', 'interval'],
      'has no effect with power_curve with sampling instantaneous; remove it',
    ],
    [
      'a gap of averages',
      { ...power, sampling: 'interval_average', interval: '15m', maxGap: '1h' },
      ['maxGap'],
      'has no effect with power_curve with sampling interval_average; remove it',
    ],
    [
      'power settings of a register',
      { ...register, sampling: 'on_change', maxGap: '1h', direction: 'positive' },
      ['sampling', 'maxGap', 'direction'],
      'has no effect with total_energy; remove it',
    ],
    [
      'limits of a register that may fall',
      { ...register, register: 'net', maxPower: '1 kW', jitter: '1 Wh' },
      ['maxPower', 'jitter'],
      'has no effect with total_energy with register net; remove it',
    ],
    [
      'the largest number that a register shows, for its size',
      { ...register, modulus: 99_999, maxPower: '10 kW' },
      ['modulus'],
      'has 100000 values; write 100000',
    ],
    [
      'the largest number of a register of three digits',
      { ...register, modulus: 999, maxPower: '1 W' },
      ['modulus'],
      'has 1000 values; write 1000',
    ],
    [
      'a modulus without maxPower',
      { ...register, modulus: 100_000 },
      ['maxPower'],
      'without it every large fall counts as a rollover',
    ],
    [
      'a modulus that maxPower passes within an interval',
      { ...register, unit: 'Wh', modulus: 65_536, maxPower: '100 kW' },
      ['modulus'],
      '100000 W fill a tenth of the register (65536 Wh) in 3.9 min',
    ],
    [
      'energies of intervals of unknown length',
      { ...register, method: 'interval_energy' },
      ['interval'],
      'is missing',
    ],
    [
      'averages of intervals of unknown length',
      { ...power, sampling: 'interval_average' },
      ['interval'],
      'is missing',
    ],
  ])('%s', (_what, stream, paths, message) => {
    expect(streamWarningsOf(stream)).toEqual(
      Object.fromEntries(paths.map((path) => [`energyStreams.0.${path}`, expect.stringContaining(message)])),
    );
  });

  test('a field that is read by two methods', () => {
    expect(streamWarningsOf(register, { ...register, method: 'daily_energy' })).toEqual({
      'energyStreams.1.field': expect.stringContaining('solar.total is also read by total_energy'),
    });
  });

  test('the same energy that is booked as two sources', () => {
    const [taken, given] = [
      { ...power, direction: 'positive', as: 'taken' },
      { ...power, direction: 'negative', as: 'given' },
    ];
    expect(streamWarningsOf(taken, given)).toEqual({});
    expect(streamWarningsOf(taken, { ...given, direction: 'positive' })).toEqual({
      'energyStreams.1.as':
        'the energy of solar.power counts twice, as taken and as given; give one direction: positive and the other direction: negative, or remove one',
    });
    expect(streamWarningsOf(power, given)['energyStreams.1.as']).toContain(
      'counts twice, as the source of the messages and as given; give one',
    );
    expect(streamWarningsOf(register, { ...register, as: 'x' })['energyStreams.1.as']).toContain(
      'remove one',
    );
  });

  test('a register change for a source that the field is not booked to', () => {
    const epoch = { device: DEVICE, at: '2024-01-01T00:00:00Z', final: 5 };
    const registerChanges = [{ ...epoch, source: 'default' }, { ...epoch, source: 'import' }, epoch];
    expect(streamWarningsOf({ ...register, as: 'import', registerChanges })).toEqual({
      'energyStreams.0.registerChanges.0.source': expect.stringContaining('write import, or remove source'),
    });
  });

  test('register changes of devices and sources that do not exist', () => {
    const at = '2024-01-01T00:00:00Z';
    const other = DEVICE.replace('7', '8');
    const registerChanges = [
      { device: other, at, final: 5 },
      { device: DEVICE, source: 'rof', at, final: 5 },
      { device: DEVICE, source: 'roof', at, final: 5 },
    ];
    const energyStreams = [{ ...register, registerChanges }];
    expect(warningsOf({ energyStreams, devices: [{ id: DEVICE, sources: ['roof'] }] })).toEqual({
      'energyStreams.0.registerChanges.0.device': expect.stringContaining('is not in devices'),
      'energyStreams.0.registerChanges.1.source': '"rof" is not a source of that device, which has roof',
    });
  });

  test.each([
    ['of the workgroup', undefined, 'total', ['total', 'own']],
    ['of the device', 'own', undefined, ['own', 'total']],
    ['of the device, not that of the workgroup', 'own', 'total', ['own', 'total']],
  ])('register epochs of neither a source of the device nor the total source %s', (_, own, total, names) => {
    const [known, unknown] = names;
    const at = '2024-01-01T00:00:00Z';
    const registerChanges = ['roof', ...names].map((source) => ({ device: DEVICE, source, at, final: 5 }));
    const devices = [{ id: DEVICE, sources: ['roof'], totalSource: own }];
    const energyStreams = [{ ...register, registerChanges }];
    expect(warningsOf({ energyStreams, devices, totalSource: total })).toEqual({
      'energyStreams.0.registerChanges.2.source': `"${unknown}" is not a source of that device, which has roof, ${known}`,
    });
  });

  test('sources that are named twice, and total sources', () => {
    const devices = [{ id: DEVICE, sources: ['roof', 'roof', 'total'] }];
    const energyStreams = [register];
    expect(
      workgroupWarnings(workgroupSchema.parse({ id: 'home', energyStreams, devices, totalSource: 'total' })),
    ).toEqual([
      { path: 'devices.0.sources', message: 'contains a source twice; remove one' },
      { path: 'devices.0.sources', message: expect.stringContaining('"total" is the total source') },
    ]);
  });

  test('the total source of a device itself, which counts before that of the workgroup', () => {
    const devices = [{ id: DEVICE, sources: ['roof', 'own'], totalSource: 'own' }];
    expect(warningsOf({ energyStreams: [register], devices, totalSource: 'roof' })).toEqual({
      'devices.0.sources': expect.stringContaining('"own" is the total source'),
    });
  });

  test('no warning for the configuration of the README and for a plain one', () => {
    // Some blocks of the README have no energy streams.
    for (const block of readmeBlocks('yaml').filter((text) => text.includes('energyStreams'))) {
      const file = parse(block);
      // A file of the folder of workgroups has only the settings of one.
      const home = workgroupSchema.parse(file.workgroups?.[0] ?? file);
      expect(workgroupWarnings(home)).toEqual([]);
    }
    const plain = { ...register, modulus: 99, maxPower: '1 W' };
    expect(streamWarningsOf(plain, power, { ...power, field: 'out', direction: 'negative' })).toEqual({});
  });
});
