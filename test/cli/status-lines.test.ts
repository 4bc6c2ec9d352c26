import { expect, test } from 'vitest';
import { describeConfigStates, streamUrl } from '../../src/cli/status/status-config.ts';
import { describeDevices } from '../../src/cli/status/status-devices.ts';
import { describeImport, describeNewestImport } from '../../src/cli/status/status-imports.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import type { ImportSummary } from '../../src/import/import-summary.ts';
import type { ConfigState } from '../../src/worker-rpc/process-rpc.ts';
import { linesOf } from './terminal-of.ts';

const atMs = Date.UTC(2026, 4, 17, 8);

test('an unfinished import says if somebody works on it, and else what to do', () => {
  const known = { path: '/a.csv', rowsRead: 12_000, updatedAtMs: atMs };
  expect(
    [
      { ...known, state: 'landing' as const, isUnderWay: true },
      { ...known, state: 'landing' as const, isUnderWay: false },
      { ...known, state: 'dropped' as const, isUnderWay: false },
    ].map((one) => describeImport('home', one)),
  ).toEqual([
    'import: home, /a.csv: in progress, 12,000 rows read at 2026-05-17T08:00:00.000Z\n',
    'import: home, /a.csv: stopped at 2026-05-17T08:00:00.000Z after 12,000 rows, which do not count yet; run the same "wattline import" again to continue\n',
    'import: home, /a.csv: given up at 2026-05-17T08:00:00.000Z after 12,000 rows, which do not count; import the file again\n',
  ]);
});

test('a finished import has its energy by source, or only the first line of its warning', () => {
  const month = (source: string, energyWh: number, name = '2026-05') => ({
    month: name,
    source,
    energyWh,
    devices: 1,
    days: 31,
  });
  const stream = { position: 0, method: 'total_energy' as const, unit: 'Wh', isUnit: false, taken: 900 };
  const summary: ImportSummary = {
    table: 'solar',
    fields: [{ field: 'wh', values: 1_000, streams: [stream], rejected: { too_much: 60, bad: 40 } }],
    firstDay: '2026-05-01',
    lastDay: '2026-06-30',
    devices: 2,
    months: [
      month('a', 1_000),
      month('a', 500, '2026-06'),
      month('b', 10),
      month('c', 20),
      month('d', 30),
      month('e', 40),
    ],
  };
  const newest = {
    path: '/a.csv',
    landedAtMs: atMs,
    rowsLanded: 1_000,
    rowsRejected: 5,
    summary,
    warnings: [],
  };
  expect(describeNewestImport('home', newest)).toMatch(
    /^import: home, \/a\.csv: imported at 2026-05-17T08:00:00\.000Z, 1,000 rows, 5 rejected; 900 readings accepted, 100 rejected; a 1\.500 kWh, b 0\.010 kWh, c 0\.020 kWh, d 0\.030 kWh and 1 more source of 2 devices/,
  );
  expect(describeNewestImport('home', { ...newest, summary: { ...summary, months: [] } })).toMatch(
    /rejected; no energy\n$/,
  );
  for (const end of ['\n', '\\u000a'])
    expect(
      describeNewestImport('home', { ...newest, warnings: [`it gives no energy.${end}  More.`] }),
    ).toMatch(
      /; WARNING: it gives no energy\. "wattline import \/a\.csv --table solar --dry-run" shows details\n$/,
    );
});

test('a process with an older configuration is printed with the reason', () => {
  const answer = (state: Partial<ConfigState>, roles = ['worker']) => ({
    processId: 7,
    roles,
    outcome: { kind: 'answer' as const, answer: { loadedAtMs: atMs, needRestart: [], ...state } },
  });
  const silent = {
    processId: 8,
    roles: ['stream'],
    outcome: { kind: 'failed' as const, error: new Error('no') },
  };
  expect(describeConfigStates([answer({}), silent])).toEqual([]);
  expect(
    describeConfigStates([
      answer({
        refused: { atMs: atMs + 60_000, message: 'it has a problem' },
        needRestart: ['http.port', 'dataDir'],
      }),
    ]),
  ).toEqual([
    'process 7 (worker): the last reload, at 2026-05-17T08:01:00.000Z, was refused, so the configuration of 2026-05-17T08:00:00.000Z still holds; correct it, then run "wattline reload": it has a problem',
    'process 7 (worker): changed settings that need a restart: http.port, dataDir',
  ]);
  // Reports have an address, too.
  const report = answer({ url: 'http://a' }, ['report']);
  const starting = answer({}, ['stream']);
  const stream = answer({ url: 'http://b' }, ['stream', 'worker']);
  expect(streamUrl([silent, report, starting, stream])).toBe('http://b');
  expect(streamUrl([silent, report])).toBeUndefined();
});

test('devices are listed in the local time of their workgroup, and a note says how to learn about silent ones', () => {
  const zones = ['Europe/Paris', 'Asia/Tokyo'].map((timezone, at) =>
    workgroupSchema.parse({ id: `w${at}`, timezone }),
  );
  const device = {
    workgroupId: 'w0',
    device: 'd1',
    name: undefined,
    state: 'offline' as const,
    since: '2026-05-17T08:00:00.000Z',
    reason: null,
    lastSeen: null,
  };
  const text = describeDevices([device, { ...device, workgroupId: 'w1' }], zones, Number.POSITIVE_INFINITY);
  expect(linesOf(text).slice(1)).toEqual([
    'w0         d1      -     offline  2026-05-17 10:00:00+02:00  -       -',
    'w1         d1      -     offline  2026-05-17 17:00:00+09:00  -       -',
  ]);
  expect(describeDevices([{ ...device, since: null, state: 'unknown' }], zones, 200)).toMatch(
    /\n\nNo device has been reported online or offline\. Set stream\.deviceTimeout /,
  );
  const unknown = { ...device, device: 'd2', since: null, state: 'unknown' as const };
  expect(describeDevices([device, unknown], zones, 200)).not.toContain('No device has been');
  expect(describeDevices([], zones, 200)).toBe('no devices\n');
});
