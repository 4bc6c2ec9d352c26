import { describeExplained } from '../../src/cli/explain/explain-view.ts';
import { configSchema } from '../../src/config/config.ts';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { explainDay } from '../../src/explain/explain-day.ts';
import { type Explained, explainedSchema } from '../../src/explain/explained-schema.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { type CaseReading, DEVICE } from '../rollup/rollup-fixture.ts';

/** The day that is explained. */
export const DAY = '2026-07-01';
const startMs = Date.parse(`${DAY}T00:00:00Z`);
export const streams: EnergyStreamInput[] = [
  {
    table: 't',
    field: 'total',
    method: 'total_energy',
    unit: 'Wh',
    maxPower: '10 kW',
    jitter: '20 Wh',
    modulus: 1_000_000,
  },
  { table: 't', field: 'today', method: 'daily_energy', unit: 'Wh', maxPower: '10 kW' },
  { table: 't', field: 'power', method: 'power_curve', unit: 'W', maxGap: '1h' },
];

const reading = (source: string, hour: number, data: CaseReading['data']): CaseReading => ({
  event_time: new Date(startMs + hour * 3_600_000).toISOString(),
  source,
  data,
});
/** Readings of one field of a source, at hours of the day. */
export const series = (
  source: string,
  field: string,
  values: ReadonlyArray<[hour: number, value: number | string]>,
) => values.map(([hour, value]) => reading(source, hour, { [field]: value }));

/** The explanation of a day of the device, and its page in short and in full. */
export async function explain(
  shard: Shard,
  { day = DAY, timezone = 'Etc/UTC', source }: { day?: string; timezone?: string; source?: string } = {},
  devices: object[] = [],
): Promise<{ explained: Explained; page: string; all: string }> {
  const [workgroup] = configSchema.parse({ workgroups: [{ id: 'acme', timezone, devices }] }).workgroups;
  const connection = await shard.connect();
  try {
    const args = { device: DEVICE, day, ...(source && { source }) };
    const answer = await explainDay(connection, args, {
      workgroup: workgroup!,
      nowMs: Date.UTC(2030, 0, 1),
      closeAfterMs: 2 * DAY_MS,
    });
    const explained = explainedSchema.strict().parse(JSON.parse(JSON.stringify(answer)));
    return {
      explained,
      page: describeExplained(explained, { all: false }),
      all: describeExplained(explained, { all: true }),
    };
  } finally {
    connection.closeSync();
  }
}

/** The lines of a section of the page, without the blanks that align them. */
export function linesOf(page: string, title: string): string[] {
  const [, text = ''] = page.split(`\n${title}\n`);
  return text
    .split('\n\n')[0]!
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim().replace(/ {2,}/g, ' | '));
}
