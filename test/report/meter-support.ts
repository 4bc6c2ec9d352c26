import type { WorkgroupConfig } from '../../src/config/config.ts';
import { metersSchema, sitesSchema } from '../../src/config/meters.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { storeUpload } from '../../src/upload/store-upload.ts';
import type { BudgetRow, MeterRow, Upload } from '../../src/upload/upload-rows.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

export interface MeterFixture extends ReportFixture {
  /** Stores rows as an upload and publishes them. */
  put(upload: Upload): Promise<void>;
  /** GETs an answer below the workgroup. @throws where it is refused */
  ask<Answer = Record<string, Record<string, number>>>(path: string, token?: string): Promise<Answer>;
  /** The error of a request that is refused. */
  refusal(path: string, token?: string): Promise<{ status: number; message: string; parameter?: string }>;
}

export interface MeterSettings extends Omit<Partial<WorkgroupConfig>, 'meters' | 'sites'> {
  meters?: unknown[];
  sites?: unknown[];
}

/**
 * A report of a workgroup with the meters GRID-1 and GRID-2, which are uploaded, and PV, which is device 1.
 */
export async function openMeters({ meters, sites, ...settings }: MeterSettings = {}): Promise<MeterFixture> {
  const at = await openReport({
    ...settings,
    meters: metersSchema.parse(
      meters ?? [{ code: 'GRID-1' }, { code: 'GRID-2' }, { code: 'PV', device: deviceId(1) }],
    ),
    sites: sitesSchema.parse(sites),
  });
  const get = (path: string, token?: string) =>
    at.get(`/api/v1/orgs/${WORKGROUP}/${path}`, { token: token ?? at.token });
  return {
    ...at,
    async put(upload) {
      const origin = { name: 'test', actor: 'test', again: false };
      const outcome = await storeUpload(at.shard, upload, origin, at.clock.now());
      if (outcome.kind !== 'stored') throw new Error(`expected to be stored: ${JSON.stringify(outcome)}`);
      await at.publish();
    },
    async ask<Answer>(path: string, token?: string) {
      const response = await get(path, token);
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      return (await response.json()) as Answer;
    },
    async refusal(path, token) {
      const response = await get(path, token);
      return (await response.json()) as Awaited<ReturnType<MeterFixture['refusal']>>;
    },
  };
}

/** Readings of a meter, from an instant on, each so many hours long. */
export function readings(meter: string, start: string, hours: number, energiesWh: number[]): MeterRow[] {
  return energiesWh.map((energyWh, index) => ({
    line: index + 2,
    meter,
    start: Date.parse(start) + index * hours * HOUR_MS,
    end: Date.parse(start) + (index + 1) * hours * HOUR_MS,
    energyWh,
    direction: null,
    quality: 'measured',
  }));
}

export const intervals = (...rows: MeterRow[]): Upload => ({ kind: 'meter_intervals', rows });

/** The budget of a meter: `period` is a year, a month, a day or `<day>/<day>`. */
export function budget(meter: string, period: string, energyWh: number, scenario = 'P50'): BudgetRow {
  const [start = '', end = ''] = period.includes('/') ? period.split('/') : boundsOf(period);
  return { line: 2, meter, start, end, energyWh, scenario };
}
export const budgets = (...rows: BudgetRow[]): Upload => ({ kind: 'budget', rows });

function boundsOf(period: string): [string, string] {
  if (period.length === 4) return [`${period}-01-01`, `${period}-12-31`];
  if (period.length === 10) return [period, period];
  const [year, month] = period.split('-').map(Number) as [number, number];
  return [`${period}-01`, new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)];
}

/** The Wh of one meter by day. */
export function seriesOf(
  answer: Record<string, Record<string, number>>,
  key: string,
): Array<number | undefined> {
  return Object.values(answer).map((day) => day[key]);
}
export const sum = (values: Array<number | undefined>): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);
