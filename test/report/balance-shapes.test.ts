import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import type { CaseReading } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { byDay, openReadings, register, roles, steady } from './balance-of-readings.ts';

const [roof, meter] = [deviceId(1), deviceId(2)];

test('readings up to an hour apart have a shape, and readings of a register up to two hours apart', async () => {
  const hourly: EnergyStreamInput = { ...byDay, field: 'hour', interval: '1h' };
  const longer: EnergyStreamInput = { ...byDay, field: 'longer', interval: '61m' };
  const power: EnergyStreamInput = {
    table: 't',
    field: 'power',
    method: 'power_curve',
    maxPower: '1 MW',
    maxGap: '2h',
  };
  const every = (device: string, field: string, minutes: number, value: number): CaseReading[] =>
    Array.from({ length: Math.ceil(1_440 / minutes) + 1 }, (_, index) => ({
      event_time: new Date(Date.UTC(2026, 5, 2) + index * minutes * 60_000).toISOString(),
      device,
      source: 'pv',
      data: { [field]: value },
    }));
  /** Silent from 10:00 on. Then it sends again each quarter of an hour. */
  const silent = (device: string, goesOn: string): CaseReading[] =>
    steady(device, 'pv', () => 100).filter(({ event_time }) => {
      const time = event_time.slice(11, 16);
      return event_time.startsWith('2026-06-03') || time <= '10:00' || time >= goesOn;
    });
  const pv: Record<string, CaseReading[]> = {
    'values of an hour': every(deviceId(1), 'hour', 60, 400),
    'values of 61 minutes': every(deviceId(2), 'longer', 61, 400),
    'power each hour': every(deviceId(3), 'power', 60, 400),
    'power each 61 minutes': every(deviceId(4), 'power', 61, 400),
    'a register after two hours': silent(deviceId(5), '12:00'),
    'a register after more than two hours': silent(deviceId(6), '12:15'),
  };
  const readings = Object.values(pv).flatMap((some, index) => [
    ...some,
    ...steady(deviceId(index + 1), 'load', () => 50),
  ]);
  const at = await openReadings([register, hourly, longer, power], readings);
  const shapes = Object.fromEntries(
    await Promise.all(
      Object.keys(pv).map(async (name, index) => {
        const { '2026-06-02': told } = await at.ask('2026-06-02', `&device=${deviceId(index + 1)}`);
        return [name, !(told!.flags as string[]).includes('shape_unknown')];
      }),
    ),
  );
  expect(shapes).toEqual({
    'values of an hour': true,
    'values of 61 minutes': false,
    'power each hour': true,
    'power each 61 minutes': false,
    'a register after two hours': true,
    'a register after more than two hours': false,
  });
});

test('registers that count in large steps are off by their steps, and no more', async () => {
  const coarse = (device: string, source: string, wh: number) =>
    steady(device, source, (index) => (index % 10 === 0 ? wh : 0));
  const readings = [
    ...coarse(meter, 'import', 1_000),
    ...coarse(roof, 'load', 1_100),
    ...coarse(roof, 'pv', 0),
  ];
  const at = await openReadings([{ ...register, jitter: '2 kWh' }], readings, { roles: [...roles] });
  // Import 10,000, consumption 11,000: a difference of three steps of 1,000, which is 3,000 at most.
  expect((await at.ask('2026-06-02'))['2026-06-02']).toMatchObject({
    gridExportWh: -1_000,
    flags: ['noise'],
  });
  const fine = await openReadings([{ ...register, jitter: '2 Wh' }], readings);
  expect((await fine.ask('2026-06-02'))['2026-06-02']).toMatchObject({
    gridExportWh: -1_000,
    flags: ['imbalance'],
  });
});
