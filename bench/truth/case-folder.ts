import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { formatInstant } from '../../src/lib/time.ts';
import { exactWh } from './knowledge.ts';
import type { Recording } from './recording.ts';

const SOURCE = 'default';

/**
 * Writes a recording as a folder that `wattline replay` and `npm run check:real` take. The readings are in
 * the order of their arrival, without its times. Days that cannot be known are not in expected.csv.
 * @returns the folder
 */
export async function writeCase(recording: Recording, parent: string): Promise<string> {
  const folder = join(parent, recording.id);
  await mkdir(folder, { recursive: true });
  const { plan, device, table, streams, readings, days, happened } = recording;
  const described = {
    name: recording.id,
    timezone: plan.place.timezone,
    table,
    energyStreams: streams,
    about: {
      configuration: recording.configuration,
      device: plan.device.kind,
      installedW: Math.round(plan.device.installedW),
      everySeconds: plan.everyMs / 1_000,
      happened: happened.map(({ fault, fromMs, toMs }) => ({
        fault,
        from: formatInstant(fromMs),
        to: formatInstant(toMs),
      })),
    },
  };
  const rows = readings.map(({ stampMs, data }) =>
    [formatInstant(stampMs), device, SOURCE, ...plan.fields.map((field) => data[field] ?? '')].join(','),
  );
  const known = days
    .filter(({ isKnowable }) => isKnowable)
    .map(({ day, lowWh, highWh, allowanceWh }) => {
      const middleWh = (lowWh + highWh) / 2;
      const toleranceWh = (highWh - lowWh) / 2 + allowanceWh + exactWh(highWh);
      return [day, device, SOURCE, middleWh.toFixed(1), toleranceWh.toFixed(1)].join(',');
    });
  const lines = (header: string, all: readonly string[]) => `${[header, ...all].join('\n')}\n`;
  await writeFile(join(folder, 'case.json'), `${JSON.stringify(described, null, 2)}\n`);
  await writeFile(
    join(folder, 'readings.csv.gz'),
    gzipSync(lines(`event_time,device_id,source,${plan.fields.join(',')}`, rows)),
  );
  await writeFile(join(folder, 'expected.csv'), lines('day,device_id,source,energy_wh,tolerance_wh', known));
  return folder;
}
