import { expect, test } from 'vitest';
import { storeDays, WORKGROUP } from '../publish/support.ts';
import { deviceId } from '../support/messages.ts';
import { openMeters } from './meter-support.ts';

const range = 'startDate=2026-11-18&endDate=2026-11-18';

async function openNamed() {
  const at = await openMeters({
    devices: [
      { id: deviceId(1), name: 'garage' },
      { id: deviceId(2), name: 'South roof' },
      { id: deviceId(3) },
    ],
    deviceGroups: { garage: [deviceId(1)] } as never,
    meters: [
      { code: 'M-1', name: 'House', device: deviceId(1) },
      { code: 'M-2', name: 'twin', device: deviceId(2) },
      { code: 'M-3', name: 'Twin', device: deviceId(3) },
    ],
  });
  await storeDays(
    at.shard,
    [1, 2, 3].map((device) => ({ day: '2026-11-18', device, energyWh: 10 * device })),
  );
  await at.publish();
  return at;
}

test('devices are named by ids or configured names, in any case', { timeout: 60_000 }, async () => {
  const at = await openNamed();
  const asked = [
    'garage',
    'GARAGE',
    `south%20roof,${deviceId(1)}`,
    `garage&devices=${deviceId(1).toUpperCase()}`,
  ];
  const keys = await Promise.all(
    asked.map(async (text) => Object.keys((await at.report(`${range}&devices=${text}`))['2026-11-18']!)),
  );
  expect(keys).toEqual([[deviceId(1)], [deviceId(1)], [deviceId(1), deviceId(2)].sort(), [deviceId(1)]]);
});

test('an unknown device is refused with the nearest name', { timeout: 60_000 }, async () => {
  const at = await openNamed();
  const message = async (path: string, token?: string) => {
    const { status, message: text } = await at.refusal(path, token);
    return `${status} ${text}`;
  };
  for (const report of [`daily-energy?${range}`, `interval-energy?${range}`, 'device-status?state=online'])
    expect(await message(`${report}&devices=garge`)).toBe(
      '400 devices: there is no device "garge"; is it garage? The devices are garage, South roof',
    );
  expect(await message(`daily-energy?${range}&devices=cellar`)).toBe(
    '400 devices: there is no device "cellar"; the devices are garage, South roof',
  );
  expect(await message('daily-energy/explain?device=garge&day=2026-11-18')).toBe(
    '400 device: there is no device "garge"; is it garage? The devices are garage, South roof',
  );
  // A token of device groups does not learn of the other names.
  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  expect(await message(`daily-energy?${range}&devices=South%20roof`, token)).toBe(
    '400 devices: there is no device "South roof"; the devices are garage',
  );
});

test('meters are named by codes, or by names that one meter has', { timeout: 60_000 }, async () => {
  const at = await openNamed();
  expect(await at.ask(`meter-data?${range}&meterCodes=house,M-2`)).toEqual({
    '2026-11-18': { 'M-1': 10, 'M-2': 20 },
  });
  const message = async (text: string) =>
    (await at.refusal(`meter-data?${range}&meterCodes=${text}`)).message;
  expect(await message('twin')).toBe(
    'meterCodes: several meters have the name "twin"; the codes are M-2, M-3',
  );
  expect(await message('M1')).toBe(
    'meterCodes: no meter has the code "M1"; is it M-1? The meters are M-1, M-2, M-3',
  );
  expect(await message('cellar')).toBe(
    'meterCodes: no meter has the code "cellar"; the meters are M-1, M-2, M-3',
  );
  expect((await at.get(`/api/v1/orgs/${WORKGROUP}/budget-data?${range}&meterCodes=house`)).status).toBe(200);
});
