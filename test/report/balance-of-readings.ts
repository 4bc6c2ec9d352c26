import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { type CaseReading, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import type { Balances } from './balance-support.ts';
import { openReport } from './report-fixture.ts';

export const roles = [
  { source: 'pv', role: 'production' },
  { source: 'load', role: 'consumption' },
  { source: 'import', role: 'grid_import' },
  { source: 'export', role: 'grid_export' },
  { source: 'net*', role: 'grid_import', negativeRole: 'grid_export' },
];
export const register: EnergyStreamInput = {
  table: 't',
  field: 'total',
  method: 'total_energy',
  maxPower: '1 MW',
};
export const daily: EnergyStreamInput = {
  table: 't',
  field: 'today',
  method: 'daily_energy',
  maxPower: '1 MW',
};
export const byDay: EnergyStreamInput = {
  table: 't',
  field: 'day',
  method: 'interval_energy',
  interval: '1d',
  maxPower: '1 MW',
};

/** Balances of energy that is rolled up from readings of each method. */
export async function openReadings(
  streams: EnergyStreamInput[],
  readings: CaseReading[],
  settings: object = {},
) {
  const workgroup = workgroupSchema.parse({ id: WORKGROUP, roles, energyStreams: streams, ...settings });
  const at = await openReport(workgroup);
  await landReadings(at.shard, readings);
  await rollUpSite(at.shard, { timezone: workgroup.timezone, streams, devices: workgroup.devices });
  await at.publish();
  const get = async <Answer>(path: string) => {
    const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return { answer: (await response.json()) as Answer, headers: response.headers };
  };
  return {
    ...at,
    get: get,
    ask: async (day: string, more = '') =>
      (await get<Balances>(`balance?startDate=${day}&endDate=${day}${more}`)).answer,
  };
}

/** Values of a field at times of the day. */
export function read(
  device: string,
  source: string,
  field: string,
  values: Record<string, number>,
): CaseReading[] {
  return Object.entries(values).map(([time, value]) => ({
    event_time: time.includes('T') ? time : `2026-06-02T${time}:00Z`,
    device,
    source,
    data: { [field]: value },
  }));
}

/**
 * A register that is read each quarter of an hour and grows by so much in each, from midnight to midnight.
 */
export function steady(
  device: string,
  source: string,
  wh: (index: number) => number,
  first = 0,
): CaseReading[] {
  let total = first;
  return Array.from({ length: 97 }, (_, index) => {
    if (index > 0) total += wh(index - 1);
    const event_time = new Date(Date.UTC(2026, 5, 2) + index * 900_000).toISOString();
    return { event_time, device, source, data: { total } };
  });
}
