// @module-tag slow
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../support/load-config.ts';
import { isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const home = {
  id: 'home',
  timezone: 'Europe/Berlin',
  devices: [{ id: DEVICE, name: 'garage' }],
  energyStreams: [
    { table: 'solar', field: 'total_wh', method: 'total_energy' as const, unit: 'Wh', maxPower: '10 kW' },
  ],
};
const to = ['--workgroup', 'home', '--table', 'solar'];
const energy = `SELECT day::VARCHAR AS day, energy_wh::DOUBLE AS wh FROM daily_energy ORDER BY day`;

/** Local times of Berlin, every five minutes from the first of July on: 1200 Wh a day. */
function csv(rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    const local = new Date(Date.UTC(2024, 6, 1) + row * 300_000).toISOString().slice(0, 16).replace('T', ' ');
    return `${local};garage;${((100_000 + row * 1_200) / 288).toFixed(4).replace('.', ',')}`;
  });
  return `Zeit;Gerät;Total Wh\n${lines.join('\n')}\n`;
}

/** A folder with a configuration and a file of two days. */
function folderOf(rows: number): string {
  const cwd = tempDir();
  configure(cwd, home.energyStreams);
  writeFileSync(join(cwd, 'log.csv'), csv(rows));
  return cwd;
}

function configure(cwd: string, energyStreams: readonly unknown[]): void {
  const workgroups = [{ ...home, energyStreams }];
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    stringify({ logLevel: 'silent', pipeline: { warehouseThreads: 1 }, workgroups }),
  );
}
const twoDays = [
  { day: '2024-07-01', wh: 1200 },
  { day: '2024-07-02', wh: 1200 },
];

test('without a service: a dry run tells the mapping and lands nothing, the import makes the energy, once', async () => {
  const cwd = folderOf(577);
  const dry = await runCommand(['import', 'log.csv', ...to, '--dry-run'], { cwd });
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(dry.stdout).toContain(
    '# log.csv: 577 rows, 0 rejected, from 2024-06-30T22:00:00.000Z to 2024-07-02T22:00:00.000Z\n',
  );
  const mapping = parse(dry.stdout);
  expect(mapping).toMatchObject({
    time: { column: 'Zeit', zone: 'Europe/Berlin' },
    device: { id: DEVICE },
    fields: { 'Total Wh': 'total_wh' },
    decimal: ',',
  });
  const config = loadConfig({ cwd, environment: {} });
  expect(await queryLake(config, 'home', energy)).toBeUndefined();

  // Its output is a mapping file.
  writeFileSync(
    join(cwd, 'mapping.yaml'),
    dry.stdout.replace(/^device:\n {2}id: .*$/m, 'device:\n  column: Gerät'),
  );
  const command = ['import', '*.csv', ...to, '--mapping', 'mapping.yaml', '--json'];
  const first = await runCommand(command, { cwd });
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(first.stdout)).toMatchObject({
    files: [
      {
        path: join(cwd, 'log.csv'),
        outcome: { kind: 'landed', counts: { rowsLanded: 577, rowsRejected: 0 } },
      },
    ],
  });
  expect(await queryLake(config, 'home', energy)).toEqual(twoDays);

  const words = await runCommand(['import', 'log.csv', ...to, '--mapping', 'mapping.yaml'], { cwd });
  expect(words.stdout).toMatch(
    /^log.csv: nothing to do, already imported at .* \(577 rows, 0 rejected\)\n\n/,
  );
  expect(await queryLake(config, 'home', energy)).toEqual(twoDays);
});

/** Two tables of three days each in March and April, with a kWh an hour, beside text and a voltage. */
function wideCsv(): string {
  const lines = ['2026-03-30', '2026-03-31', '2026-04-01'].flatMap((day, index) =>
    Array.from(
      { length: 24 },
      (_, hour) =>
        `${day} ${String(hour).padStart(2, '0')}:00;${500 + 24 * index + hour};${230 + (hour % 3)};OK`,
    ),
  );
  return `Export;;;\nZeit;Zähler (kWh);Spannung (V);Status\n${lines.join('\n')}\n`;
}

test('an import reports its fields, its accepted and rejected readings, and the energy by month of its own devices, sources and days', async () => {
  const cwd = tempDir();
  const energyStreams = [
    { table: 'solar', field: 'Zähler (kWh)', method: 'total_energy' as const, unit: 'kWh' },
    { table: 'solar', field: 'Spannung (V)', method: 'power_curve' as const, unit: 'W', multiplier: 4 },
  ];
  configure(cwd, energyStreams);
  const [one, two] = ['one.csv', 'two.csv'];
  writeFileSync(join(cwd, one), wideCsv());
  // The last values are impossible: a negative register, and a voltage of 32767, which means "no value".
  writeFileSync(
    join(cwd, two),
    `Export;;;\nZeit;Zähler (kWh);Spannung (V);Status\n2026-04-02 00:00;572;230;OK\n2026-04-02 01:00;-1;32767;OK\n`,
  );
  const { code, stdout, stderr } = await runCommand(['import', one, two, ...to], { cwd });
  expect([code, stderr.includes('WARNING')]).toEqual([0, false]);
  expect(stdout).toBe(`one.csv: 72 rows, 0 rejected
two.csv: 2 rows, 0 rejected

Field         Values  Read by                              Taken  Rejected
Spannung (V)      74  energyStreams.1 (power_curve, W)        73         1
Zähler (kWh)      74  energyStreams.0 (total_energy, kWh)     73         1
  Spannung (V) rejected, sentinel: 1
  Zähler (kWh) rejected, negative: 1

Energy of its device from 2026-03-30 to 2026-04-02, the days of this import
Month    Source      kWh  Devices  Days
2026-03  default  48.000        1     2
2026-04  default  24.000        1     1
`);
  // The printed energy is the energy of the lake.
  const config = loadConfig({ cwd, environment: {} });
  const days = await queryLake(config, 'home', energy);
  expect(days!.map(({ wh }) => wh)).toEqual([24_000, 24_000, 24_000]);
  const status = await runCommand(['status'], { cwd });
  expect(status.stdout).toContain(
    ', 72 rows; 144 readings accepted; default 72.000 kWh of 1 device from 2026-03-30 to 2026-04-01\n',
  );

  // The energy of an import is the energy of its own devices, sources and days.
  configure(cwd, [...energyStreams, ...home.energyStreams]);
  const other = '0b0e7c1e-0000-4000-8000-000000000002';
  /** Hourly registers of this many days from 1 March on, with this many Wh an hour. */
  const rowsOf = (device: string, source: string, days: number, wh: number) =>
    Array.from({ length: 24 * days + 1 }, (_, hour) => {
      const time = new Date(Date.UTC(2026, 2, 1, -1) + hour * 3_600_000).toISOString();
      return `${time},${device},${source},${1_000 + wh * hour}\n`;
    });
  const file = (name: string, rows: string[]) =>
    writeFileSync(join(cwd, name), `time,device,source,total_wh\n${rows.join('')}`);
  // The last reading is impossible: a negative register.
  file('all.csv', [
    ...rowsOf(DEVICE, 'roof', 5, 100),
    ...rowsOf(DEVICE, 'shed', 5, 10),
    ...rowsOf(other, 'shed', 5, 200),
    `2026-03-09T00:00:00Z,${other},shed,-1\n`,
  ]);
  const told = async (name: string) =>
    JSON.parse((await runCommand(['import', name, ...to, '--json'], { cwd })).stdout);
  expect(await told('all.csv')).toMatchObject({
    table: 'solar',
    fields: [
      { field: 'total_wh', values: 364, streams: [{ position: 2, taken: 363 }], rejected: { negative: 1 } },
    ],
    months: [
      { month: '2026-03', source: 'roof', energyWh: 12_000, devices: 1, days: 5 },
      { month: '2026-03', source: 'shed', energyWh: 25_200, devices: 2, days: 5 },
    ],
    warnings: [],
  });
  // The other source of the device, the other device and the later days are not part of this import.
  file('shed.csv', rowsOf(DEVICE, 'shed', 2, 10));
  const shed = await told('shed.csv');
  expect(shed).toMatchObject({
    fields: [{ values: 49, streams: [{ taken: 49 }] }],
    firstDay: '2026-03-01',
    lastDay: '2026-03-03',
    devices: 1,
  });
  expect(shed.months).toEqual([{ month: '2026-03', source: 'shed', energyWh: 720, devices: 1, days: 3 }]);
});

test.runIf(isSoak)(
  'an import that gives no energy warns: without any used field it suggests lines of configuration, otherwise it says why',
  async () => {
    const cwd = folderOf(1);
    writeFileSync(join(cwd, 'log.csv'), wideCsv());
    const line =
      '- { table: solar, field: Zähler (kWh), method: total_energy, unit: kWh }   # only grows, 500 to 571';
    const dry = await runCommand(['import', 'log.csv', ...to, '--dry-run'], { cwd });
    expect(dry.code).toBe(0);
    expect(dry.stdout).toContain('# Zähler (kWh)      72  no energy stream\n');
    expect(dry.stderr).toContain(
      'WARNING: this import gives no energy. No energy stream reads any of its fields.\n',
    );
    expect(dry.stderr).toContain(`    ${line}\n`);
    expect(dry.stderr).not.toContain('The rows are stored.');

    const { code, stdout, stderr } = await runCommand(['import', 'log.csv', ...to], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nZähler \(kWh\) +72 +no energy stream +- +-\n/);
    for (const text of [
      'WARNING: this import gives no energy.',
      'The energy streams of workgroup home read solar.total_wh.',
      line,
      'The rows are stored.',
      'wattline backfill --source archive --from 2026-03-30 --table solar',
    ])
      expect(stderr).toContain(text);
    const status = await runCommand(['status'], { cwd });
    expect(status.stdout).toContain('72 rows; WARNING: this import gives no energy.');
    const json = await runCommand(['import', 'log.csv', ...to, '--json'], { cwd });
    expect(json.stderr).toBe('');
    expect(JSON.parse(json.stdout)).toMatchObject({
      months: [],
      warnings: [expect.stringContaining('No energy stream reads any of its fields')],
      suggested: [{ field: 'Zähler (kWh)', method: 'total_energy', unit: 'kWh' }],
    });

    // All readings are rejected, or they have no energy.
    const text = (values: number[]) =>
      `Zeit;total_wh\n${values.map((value, hour) => `2026-03-30 0${hour}:00;${value}\n`).join('')}`;
    writeFileSync(join(cwd, 'negative.csv'), text([-5, -6]));
    const negative = await runCommand(['import', 'negative.csv', ...to], { cwd });
    expect(negative.code).toBe(0);
    expect(negative.stderr).toContain(
      'WARNING: this import gives no energy. All readings of the fields that energy streams read were rejected (total_wh: 2 negative).',
    );
    writeFileSync(join(cwd, 'one.csv'), text([5]));
    const single = await runCommand(['import', 'one.csv', ...to], { cwd });
    expect(single.stderr).toContain('Its readings were accepted, but a register needs two readings');
    // A misspelt table is reported, with the intended one.
    writeFileSync(join(cwd, 'typo.csv'), text([5, 6]));
    const typo = await runCommand(['import', 'typo.csv', '-w', 'home', '-t', 'solr', '--dry-run'], { cwd });
    expect(typo.stderr).toContain('Is table solar meant? Then import the file again with --table solar.');

    // With the pasted line, the stored readings give energy.
    const [stream] = parse(line) as Array<Record<string, string>>;
    const energyStreams = [...home.energyStreams, stream];
    configure(cwd, energyStreams);
    const again = await runCommand(['import', 'log.csv', ...to], { cwd });
    expect([again.code, again.stderr.includes('WARNING')]).toEqual([0, false]);
    expect(again.stdout).toContain(
      '\n2026-03  default  48.000        1     2\n2026-04  default  23.000        1     1\n',
    );
  },
);

test.runIf(isSoak)(
  'with a service: the same command asks it, and returns once the report has the energy',
  async () => {
    const service = await createServiceProcess({
      workgroups: [home],
      pipeline: { rollupEvery: '300ms', publishEvery: '300ms' },
    });
    await service.start();
    const file = join(tempDir(), 'log.csv');
    writeFileSync(file, csv(577));
    const cwd = join(service.config.dataDir, '..');
    const { code, stdout } = await runCli(['import', file, ...to, '--json'], { cwd });
    expect([code, JSON.parse(stdout).files[0].outcome.kind]).toEqual([0, 'landed']);
    const answer = await fetch(
      `${service.url}/api/v1/orgs/home/daily-energy?startDate=2024-07-01&endDate=2024-07-02`,
      {
        headers: { Authorization: `Bearer ${service.token}` },
      },
    );
    expect(await answer.json()).toEqual({
      '2024-07-01': { [DEVICE]: 1200 },
      '2024-07-02': { [DEVICE]: 1200 },
    });

    // A missing file is refused before the service is asked.
    const missing = await runCommand(['import', 'nothing-*.csv', ...to], { cwd });
    expect(missing).toMatchObject({ code: 2, stdout: '' });
    expect(await service.stop()).toBe(0);
  },
);

test('wrong arguments end at once with exit code 2, and a file without usable rows with 1', async () => {
  const cwd = folderOf(10);
  for (const [workgroup, table, told] of [
    ['nobody', 'solar', '--workgroup: "nobody" is not configured'],
    ['home', 'a b', '--table: must be'],
  ] as const) {
    const wrong = await runCommand(['import', 'log.csv', '--workgroup', workgroup, '--table', table], {
      cwd,
    });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(told);
  }
  writeFileSync(join(cwd, 'mapping.yaml'), 'time: { column: Zeit, zone: Nowhere }\ndevice: {}\n');
  const mapping = await runCommand(['import', 'log.csv', ...to, '--mapping', 'mapping.yaml'], { cwd });
  expect(mapping.code).toBe(2);
  for (const path of ['time.zone', 'device', 'fields']) expect(mapping.stderr).toContain(`  ${path}: `);
  writeFileSync(
    join(cwd, 'mapping.yaml'),
    'time: { column: Zeit, format: "%d.%m.%Y" }\ndevice: { id: garage }\nfields: { "Total Wh": total_wh }\n',
  );
  const unusable = await runCommand(['import', 'log.csv', ...to, '--mapping', 'mapping.yaml'], { cwd });
  expect(unusable.code).toBe(1);
  expect(unusable.stdout).toContain('nothing imported, all 10 rows were rejected\n  bad_time: 10\n');
  expect(readFileSync(join(cwd, 'log.csv'), 'utf8')).toBe(csv(10));
});
