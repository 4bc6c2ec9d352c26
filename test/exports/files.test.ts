import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storeDays } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { openExportFixture } from './exports-fixture.ts';

const run = { corrected: false };
const signal = new AbortController().signal;

test('a day is written as CSV that a spreadsheet reads, and nothing in it is a formula', {
  tags: ['slow'],
}, async () => {
  const names = [
    { id: deviceId(1), name: '=SUM(A1)' },
    { id: deviceId(2), name: 'Hall, "east"' },
    { id: deviceId(3), name: '-2+3' },
  ];
  const at = await openExportFixture([{}], { devices: names });
  await storeDays(at.shard, [
    { day: '2026-11-19', device: 1, source: '@pv', energyWh: 10 },
    { day: '2026-11-19', device: 2, source: 'a\nb', energyWh: -3, flags: 3 },
    { day: '2026-11-19', device: 3, energyWh: 7 },
    { day: '2026-11-20', device: 3, energyWh: 8 },
  ]);
  await at.publish();
  const { kind } = await at.exports.run('export1', run, signal);
  expect(kind).toBe('delivered');
  expect(readdirSync(at.target)).toEqual(['export1_2026-11-19.csv']);
  const text = readFileSync(join(at.target, 'export1_2026-11-19.csv'), 'utf8');
  expect(text.split('\r\n')).toEqual([
    'day,device,device_name,source,energy_wh,method,flags,coverage,status,version,computed_at',
    `2026-11-19,${deviceId(1)},'=SUM(A1),'@pv,10,total_energy,,1.0,provisional,1,1970-01-01T00:00:00Z`,
    `2026-11-19,${deviceId(2)},"Hall, ""east""","a\nb",-3,total_energy,estimated reset,1.0,provisional,1,1970-01-01T00:00:00Z`,
    `2026-11-19,${deviceId(3)},'-2+3,inverter,7,total_energy,,1.0,provisional,1,1970-01-01T00:00:00Z`,
    '',
  ]);
});

test('a file without any energy says so, and does not say zero', async () => {
  const at = await openExportFixture([{}]);
  await storeDays(at.shard, [{ day: '2026-11-17', device: 1, energyWh: 10 }]);
  await at.publish();
  const { run: done } = await at.exports.run('export1', run, signal);
  expect(done.file).toMatchObject({ rows: 0, energyWh: null });
});
