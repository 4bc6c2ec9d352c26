import type { SMTPServerOptions } from 'smtp-server';
import { dayBounds, formatInstant, INTERVAL_MS, type LocalDate } from '../../src/lib/time.ts';
import { storeUpload } from '../../src/upload/store-upload.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { budget, budgets } from '../report/meter-support.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { openExportFixture } from './exports-fixture.ts';

const [roof, meter, garage, wallbox] = [1, 2, 3, 4].map(deviceId) as [string, string, string, string];
const timezone = 'Europe/Berlin';
const streams = [
  { table: 't', field: 'wh', method: 'interval_energy', unit: 'Wh', interval: '15m', maxPower: '1 GW' },
] as const;
/** Thursdays. The last one is the day of the mail. */
const lastDay = '2026-11-19';
const thursdays = ['2026-10-22', '2026-10-29', '2026-11-05', '2026-11-12', lastDay];

/**
 * A house with a day that is not perfect: the meter has said nothing about import after noon, and the garage
 * nothing at all.
 */
export async function openMorning(options: SMTPServerOptions = {}, days = thursdays) {
  const server = await startMailServer(options);
  const at = await openExportFixture(
    [
      {
        id: 'morning',
        format: 'csv',
        schedule: '30 6 * * *',
        destination: { email: { to: ['ada@example.com'] } },
      },
    ],
    {
      timezone,
      devices: [
        { id: roof, name: 'roof' },
        { id: meter, name: 'meter' },
        { id: garage, name: 'garage' },
        { id: wallbox, name: 'wallbox' },
      ],
      roles: [
        { source: 'pv', role: 'production' },
        { source: 'import', role: 'grid_import' },
        { source: 'export', role: 'grid_export' },
      ],
      meters: [{ code: 'ROOF', device: roof }],
      sites: [
        { name: 'house', meters: [{ code: 'ROOF' }], devices: [{ id: roof }, { id: meter }] },
        // No source of it has a role, so it has no balance.
        { name: 'shed', devices: [{ id: garage }] },
      ],
    },
    {
      http: { publicUrl: 'https://energy.example.com/' },
      mail: { host: '127.0.0.1', port: server.port, tls: 'none', from: 'Wattline <wattline@example.com>' },
    },
  );
  const readings = days.flatMap((day) => [
    ...readingsOf(day, roof, 'pv', day === lastDay ? 150 : 100 + thursdays.indexOf(day)),
    ...readingsOf(day, meter, 'import', 20, day === lastDay ? 48 : 96),
    ...readingsOf(day, meter, 'export', 40),
    ...(day === lastDay ? [] : readingsOf(day, garage, 'socket', 5)),
  ]);
  await landReadings(at.shard, readings);
  await rollUpSite(at.shard, { timezone, streams });
  const origin = { name: 'test', actor: 'test', again: false };
  await storeUpload(at.shard, budgets(budget('ROOF', '2026-11', 300_000)), origin, at.clock.now());
  await at.shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO gap (gap_id, origin, reason, from_time_ms, to_time_ms, detected_at_ms) VALUES (1, 'stream', 'expired', $from, $to, $to)`,
      {
        from: BigInt(Date.parse('2026-11-19T11:00:00Z')),
        to: BigInt(Date.parse('2026-11-19T23:10:00Z')),
      },
    );
  });
  await at.publish();
  return { ...at, server };
}

function readingsOf(day: LocalDate, device: string, source: string, wh: number, count = 96) {
  const { startMs } = dayBounds(day, day, timezone)[0]!;
  return Array.from({ length: count }, (_, index) => ({
    event_time: formatInstant(startMs + index * INTERVAL_MS),
    device,
    source,
    data: { wh },
  }));
}

/** The text of a mail, decoded. */
export function textOf(source: string): string {
  const part = source.split(/^--.*\r\n/m).find((one) => /^Content-Type: text\/plain/m.test(one)) ?? '';
  const [head = '', ...body] = part.split('\r\n\r\n');
  const text = body.join('\n\n').replaceAll('\r\n', '\n');
  if (!/quoted-printable/.test(head)) return text;
  const bytes = text
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
