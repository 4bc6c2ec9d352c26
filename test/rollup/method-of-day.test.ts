// @module-tag slow
import { expect, test } from 'vitest';
import { deviceId } from '../support/messages.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, landReadings, rollUpSite } from './rollup-fixture.ts';

const START_MS = Date.UTC(2024, 5, 1);
const HOUR_MS = 3_600_000;

/** What the register and the power of a device show on one day, from midnight on. */
interface DeviceDay {
  device: string;
  registerHours: number;
  /** Wh of each hour that the register counts. */
  growthWh: number;
  powerHours: number;
  powerW: number;
}

function everyDeviceDay(): DeviceDay[] {
  const days: DeviceDay[] = [];
  for (const registerHours of [24, 12, 3])
    for (const growthWh of [0, 100])
      for (const powerHours of [24, 12, 10, 3])
        for (const powerW of [0, 100, 150, 3_000])
          days.push({ device: deviceId(days.length + 1), registerHours, growthWh, powerHours, powerW });
  return days;
}

/** The rule of docs/rules.md, 80 Days, with its constants as numbers. The register is first in the order. */
function isReadFromPower({ registerHours, growthWh, powerHours, powerW }: DeviceDay): boolean {
  const powerWh = powerW * powerHours;
  // 100 W on average.
  if (growthWh === 0 && powerWh > 2_400) return true;
  // Half a day.
  return registerHours < powerHours - 12;
}

function readingsOf({ device, registerHours, growthWh, powerHours, powerW }: DeviceDay): CaseReading[] {
  return Array.from({ length: 25 }, (_, hour) => ({
    device,
    event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
    data: {
      ...(hour <= registerHours && { total: 54_321 + hour * growthWh }),
      ...(hour <= powerHours && { power: powerW }),
    },
  }));
}

test('a day is read from the register, unless it stands still beside power or power covers much more', async () => {
  const days = everyDeviceDay();
  const shard = await openTestShard();
  await landReadings(shard, days.flatMap(readingsOf));
  await rollUpSite(shard, {
    timezone: 'Etc/UTC',
    streams: [
      { table: 't', field: 'total', method: 'total_energy', maxPower: '10 kW' },
      { table: 't', field: 'power', method: 'power_curve', maxPower: '10 kW' },
    ],
  });
  const rows = await rowsOf(
    shard,
    "SELECT device::VARCHAR AS device, method, energy_wh::DOUBLE AS wh FROM daily_energy WHERE day = '2024-06-01'",
  );
  const answers = new Map(rows.map(({ device, ...answer }) => [device, answer]));
  expect(days.map((day) => ({ ...day, ...answers.get(day.device) }))).toEqual(
    days.map((day) => ({
      ...day,
      ...(isReadFromPower(day)
        ? { method: 'power_curve', wh: day.powerW * day.powerHours }
        : { method: 'total_energy', wh: day.growthWh * day.registerHours }),
    })),
  );
});
