import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCases } from '../../src/cli/replay/read-cases.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wattline-replay-cases-'));
});
afterAll(() => rm(folder, { recursive: true }));

const one = {
  id: 'mine',
  timezone: 'Europe/Berlin',
  energyStreams: [{ field: 'energy', method: 'total_energy', unit: 'kWh' }],
  readings: [],
};

async function write(content: unknown): Promise<string> {
  const file = join(folder, 'cases.json');
  await writeFile(file, JSON.stringify(content));
  return file;
}

test('the error for a folder without case.json names the missing file', async () => {
  await expect(readCases(folder)).rejects.toThrow(/case\.json has a problem:\n.*cannot be read: ENOENT/);
});

test('a file without cases is an error', async () => {
  await expect(readCases(await write([]))).rejects.toThrow('contains no case');
});

test('two cases with the same id are an error, because the energy of one would be lost', async () => {
  await expect(readCases(await write([one, one]))).rejects.toThrow('has two cases with the id "mine"');
  await expect(readCases(await write([one, { ...one, id: 'other' }]))).resolves.toMatchObject({
    readings: [{ name: 'mine' }, { name: 'other' }],
    balances: [],
  });
});

test('a case without id and name is named by its number from 1, as errors name it', async () => {
  const { id: _, ...unnamed } = one;
  const content = [unnamed, { ...unnamed, name: 'the roof' }, one, unnamed];
  await expect(readCases(await write(content))).resolves.toMatchObject({
    readings: [{ name: '1' }, { name: 'the roof' }, { name: 'mine' }, { name: '4' }],
  });
  const wrong = { ...unnamed, readings: [{ event_time: 'noon', data: {} }] };
  await expect(readCases(await write([unnamed, wrong]))).rejects.toThrow(/, case 2 has a problem:/);
});

test('a misspelt key is refused with a suggestion, and the description of a case is accepted', async () => {
  const { timezone: timeZone, ...rest } = one;
  const refused = readCases(await write([{ ...rest, timeZone, tolerance: 5, note: 'mine' }]));
  await expect(refused).rejects.toThrow(
    /case 1 has a problem:\n.*timeZone: is not a known setting; is it timezone\?$/,
  );
  await expect(readCases(await write([{ ...one, tolerance: 5, source: 'mine' }]))).resolves.toMatchObject({
    readings: [{ name: 'mine' }],
  });
});

async function readingsOf(file: string, content: string | Buffer) {
  const own = await mkdtemp(join(folder, 'case-'));
  await writeFile(join(own, 'case.json'), JSON.stringify(one));
  await writeFile(join(own, file), content);
  const [read] = (await readCases(own)).readings;
  const readings = [];
  for await (const reading of read!.readings()) readings.push(reading);
  return readings;
}

test('columns may have any order, and only the time and one field are required', async () => {
  const rows =
    'energy,source,event_time\r\n1.5,roof,2025-06-01T00:00:00+02:00\r\n\r\n,,2025-06-01T00:00:00Z\r\n';
  expect(await readingsOf('readings.csv.gz', gzipSync(`\ufeff${rows}`))).toMatchObject([
    { source: 'roof', eventTimeMs: Date.parse('2025-05-31T22:00:00Z'), data: { energy: 1.5 } },
    { source: null, eventTimeMs: Date.parse('2025-06-01T00:00:00Z'), data: { energy: null } },
  ]);
});

test('an empty cell of the device means the lone device, and the packed readings come first', async () => {
  const lone = '00000000-0000-4000-8000-000000000001';
  const other = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
  const rows = `event_time,device_id,energy\n2025-06-01T00:00Z,,1\n2025-06-01T00:00Z,${other},2\n`;
  expect(await readingsOf('readings.csv', rows)).toMatchObject([{ device: lone }, { device: other }]);
  const own = await mkdtemp(join(folder, 'case-'));
  await writeFile(join(own, 'case.json'), JSON.stringify(one));
  await writeFile(join(own, 'readings.csv'), 'event_time,energy\n2025-06-01T00:00Z,1\n');
  await writeFile(join(own, 'readings.csv.gz'), gzipSync('event_time,energy\n2025-06-01T00:00Z,2\n'));
  const [read] = (await readCases(own)).readings;
  expect(await Array.fromAsync(read!.readings())).toMatchObject([{ data: { energy: 2 } }]);
});

test('only plain decimal numbers are numbers, and other cells stay text', async () => {
  const rows = 'event_time,energy,device_name\n2025-06-01T00:00Z,1.5e3,0x10\n2025-06-01T00:00Z,1e999,"1,5"\n';
  expect(await readingsOf('readings.csv', rows)).toMatchObject([
    { data: { energy: 1_500, device_name: '0x10' } },
    { data: { energy: '1e999', device_name: '1,5' } },
  ]);
});

test.each([
  [
    'other names',
    'Event_Time,device,energy\n',
    /line 1: has no column "event_time", but "Event_Time"; call it.*\n.*"device"; call it "device_id"/,
  ],
  ['semicolons', 'event_time;energy\n', /has no column "event_time"; its columns are "event_time;energy"/],
  [
    'no field of the streams',
    'event_time,enrgy\n',
    /no column for any field of the energy streams \(energy\); its columns are "event_time", "enrgy"/,
  ],
  ['a column twice', 'event_time,energy,energy\n', /has two columns "energy"/],
  ['nothing', '', /is empty; its first line must name the columns/],
  ['no time', 'event_time,energy\n,5\n', /line 2, event_time: is empty/],
  [
    'no zone',
    'event_time,energy\n2025-06-01T00:00:00,5\n',
    /line 2, event_time: "2025-06-01T00:00:00" is not an instant/,
  ],
])('a file with %s is refused, and says why', async (_, text, message) => {
  await expect(readingsOf('readings.csv', text)).rejects.toThrow(message);
});

test('a file that is not gzip or is cut off, and a folder without readings, have different errors', async () => {
  const rows = Buffer.from(`event_time,energy\n${'2025-06-01T00:00:00Z,5\n'.repeat(1_000)}`);
  await expect(readingsOf('readings.csv.gz', rows)).rejects.toThrow('is it gzip?');
  await expect(readingsOf('readings.csv.gz', gzipSync(rows).subarray(0, -20))).rejects.toThrow('cut off');
  await expect(readingsOf('readings.txt', rows)).rejects.toThrow(
    'has neither readings.csv.gz nor readings.csv',
  );
});
