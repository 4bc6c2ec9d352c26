import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { deliverByEmail } from '../../src/exports/deliver-email.ts';
import { parsePeriod } from '../../src/exports/export-period.ts';
import { attentionLines } from '../../src/exports/morning-attention.ts';
import { type MorningFacts, readMorningFacts } from '../../src/exports/morning-facts.ts';
import { writeMorningMail } from '../../src/exports/morning-mail.ts';
import { usualWh } from '../../src/exports/usual-energy.ts';
import { displayWidth } from '../../src/lib/display-width.ts';
import { addDays, DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import type { DeviceState } from '../../src/report/device-states.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { landReadings } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { blocksOf, pages } from '../support/readme.ts';
import { isSoak } from '../support/rounds.ts';
import { openExportFixture } from './exports-fixture.ts';
import { openMorning, textOf } from './morning-fixture.ts';

const signal = new AbortController().signal;

test('the mail of a day that is not perfect is the sample of the page', { tags: ['slow'] }, async () => {
  const { exports, server, lake, config, dataDir } = await openMorning();
  const { run } = await exports.run('morning', { corrected: false }, signal);
  expect(run.delivered?.to).toBe('mail to ada@example.com');
  expect(server.received).toMatchObject([{ to: ['ada@example.com'] }]);
  const { source } = server.received[0]!;
  const [sample] = blocksOf('docs/exports.md', 'text');
  expect(textOf(source).trimEnd()).toBe(sample!.trimEnd());
  const [, subject] = /`(Energy of [^`]+)`/.exec(pages.get('docs/exports.md')!)!;
  expect(source).toContain(`Subject: ${subject}\r\n`);
  expect(source).toContain('filename=morning_2026-11-19.csv');
  expect(source.replaceAll('=\r\n', '')).toContain('garage</td><td align=3D"right">unknown</td>');
  expect(sample).toContain('/#/acme/energy?from=2026-11-19&to=2026-11-19');

  // A file of more than 8 MiB is named, and not attached.
  const path = join(dataDir, 'morning.csv');
  writeFileSync(path, 'day');
  const query = { ...exports.open('morning'), period: parsePeriod('2026-11-19')! };
  const send = async (bytes: number, attach: boolean) => {
    const file = { path, name: 'morning.csv', bytes, contentType: 'text/csv', idempotencyKey: 'm' };
    await deliverByEmail(
      { to: ['ada@example.com'], attach },
      { ...file, sha256: String(bytes) },
      query,
      { lake, mail: config.mail, publicUrl: undefined },
      signal,
    );
    const { source: sent } = server.received.at(-1)!;
    return [sent.includes('filename=morning.csv'), textOf(sent).includes('has 8,388,609 bytes')];
  };
  expect(await send(8_388_608, true)).toEqual([true, false]);
  expect(await send(8_388_609, true)).toEqual([false, true]);
  expect(await send(8_388_609, false)).toEqual([false, false]);
  // Mails about the same file are one mail.
  const ids = server.received.slice(1).map(({ source: sent }) => /^Message-ID: (.+)\r$/m.exec(sent)![1]);
  expect([ids[0] === ids[1], ids[1] === ids[2]]).toEqual([false, true]);
});

test.runIf(isSoak)(
  'a mail that the server did not take comes again with its Message-ID, and never again after a restart',
  async () => {
    const refusals = [new Error('busy, try later')];
    const seen: string[] = [];
    const at = await openMorning(
      {
        onMailFrom: ({ address }, _session, done) => {
          seen.push(address);
          done(refusals.shift() ?? null);
        },
      },
      ['2026-11-19'],
    );
    await at.work();
    // Half past six of the next morning in Berlin.
    await at.clock.advance(DAY_MS - 6 * HOUR_MS);
    await at.work();
    expect(at.server.received).toEqual([]);
    expect(await at.ledger('morning').runs()).toMatchObject([
      { period: '2026-11-20', state: 'waiting', lastError: { code: 'MailRefused' } },
    ]);
    await at.clock.advance(MINUTE_MS);
    await at.restart().work(WORKGROUP, signal);
    await at.restart().work(WORKGROUP, signal);
    expect(at.server.received).toHaveLength(1);
    expect(seen).toHaveLength(2);
    expect(await at.ledger('morning').runs()).toMatchObject([{ state: 'delivered', attempts: 2 }]);
    // A day without messages is shown as unknown, and not as 0.
    const text = textOf(at.server.received[0]!.source);
    expect(text).toMatch(/production +unknown/);
    expect(text).toMatch(/roof \(production\) +unknown/);
    // By hand the same day can be sent again, as another mail.
    await at.exports.run('morning', { corrected: true }, signal);
    const ids = at.server.received.map(({ source }) => /^Message-ID: (.+)\r$/m.exec(source)![1]);
    expect(new Set(ids).size).toBe(2);
  },
);

test('a mail is about the open gaps of its day', async () => {
  const { shard, publish, lake, config } = await openExportFixture([]);
  const atNoon = (day: string) => `epoch_ms(TIMESTAMP '${day} 12:00')`;
  const [before, day, after] = ['2026-11-18', '2026-11-19', '2026-11-20'].map(atNoon);
  await shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO gap (gap_id, origin, reason, from_time_ms, to_time_ms, detected_at_ms, closed_at_ms)
      VALUES (1, 'stream', 'expired', ${before}, ${day}, ${day}, NULL),
        (2, 'stream', 'expired', ${before}, ${day}, ${day}, ${after}),
        (3, 'stream', 'expired', ${before}, ${before}, ${before}, NULL),
        (4, 'stream', 'recreated', NULL, NULL, ${day}, NULL),
        (5, 'stream', 'expired', ${after}, ${after}, ${after}, NULL)`,
    );
  });
  await publish();
  const generation = (await lake.newestGeneration(WORKGROUP))!;
  const { gaps } = await readMorningFacts(config.workgroups[0]!, '2026-11-19', { lake, generation, signal });
  const noonMs = Date.parse('2026-11-19T12:00:00Z');
  expect(gaps).toEqual([
    { fromMs: noonMs - DAY_MS, toMs: noonMs, reason: 'expired' },
    { fromMs: noonMs, toMs: noonMs, reason: 'recreated' },
  ]);
});

test('a workgroup that never had a gap has none in its mail', { tags: ['slow'] }, async () => {
  const { shard, publish, lake, config } = await openExportFixture([]);
  await landReadings(shard, [{ event_time: '2026-11-19T12:00:00Z', device: deviceId(1), data: { wh: 1 } }]);
  await publish();
  const generation = (await lake.newestGeneration(WORKGROUP))!;
  expect(generation.files('gap')).toEqual([]);
  const { gaps } = await readMorningFacts(config.workgroups[0]!, '2026-11-19', { lake, generation, signal });
  expect(gaps).toEqual([]);
});

test('names cannot change the mail, and long lists are cut with their number', () => {
  const { workgroups } = configSchema.parse({
    workgroups: [
      {
        id: 'home',
        devices: [
          { id: deviceId(1), name: '<b>&"x"\u001b[2J' },
          { id: deviceId(40), name: '屋根' },
        ],
      },
    ],
  });
  const devices = Array.from({ length: 40 }, (_, index) => ({
    device: deviceId(index + 1),
    energies: { '2026-11-19': index },
    flags: ['gap'],
    coverage: 0.5,
    lastDay: null,
  }));
  const facts: MorningFacts = {
    day: '2026-11-19',
    workgroup: workgroups[0]!,
    balances: [],
    devices,
    states: [],
    publishedAtMs: Date.parse('2026-11-20T05:30:00Z'),
    budgets: [],
    gaps: [],
  };
  const { text, html } = writeMorningMail(facts, {});
  expect(html).toContain('&lt;b&gt;&amp;&quot;x&quot;\\u001b[2J: flagged gap');
  expect(html + text).not.toContain('\u001b');
  expect(text).toContain('  and 10 more\n');
  expect(text).toContain('- and 31 more\n');
  expect(text.match(/^- /gm)).toHaveLength(10);
  // Less than 10 Wh is known energy.
  expect(text).toContain('0.01 kWh');
  const columnOf = (name: string) => {
    const line = text.split('\n').find((one) => one.startsWith(`  ${name} `))!;
    return displayWidth(line.slice(0, line.indexOf(' kWh')));
  };
  expect(columnOf('屋根')).toBe(columnOf(deviceId(39)));
});

test('a silent device is named, with or without a flag, and a device that has slept since the evening is not named', () => {
  const publishedAtMs = Date.parse('2026-11-20T05:30:00Z');
  const eveningMs = Date.parse('2026-11-19T16:30:00Z');
  const offline = (index: number, reason: string, lastSeenMs: number): DeviceState => ({
    device: deviceId(index),
    name: undefined,
    state: 'offline',
    sinceMs: lastSeenMs,
    reason,
    lastSeenMs,
  });
  const { workgroups } = configSchema.parse({
    workgroups: [
      {
        id: 'home',
        devices: [1, 2, 3, 4].map((index) => ({ id: deviceId(index), name: `number ${index}` })),
      },
    ],
  });
  const lines = attentionLines({
    day: '2026-11-19',
    workgroup: workgroups[0]!,
    balances: [],
    devices: [1, 2, 3, 4].map((index) => ({
      device: deviceId(index),
      energies: { '2026-11-19': 1_000 },
      flags: index === 2 ? ['gap'] : [],
      coverage: 1,
      lastDay: null,
    })),
    states: [
      offline(1, 'timeout', eveningMs),
      offline(2, 'timeout', eveningMs),
      offline(3, 'asleep', eveningMs),
      offline(4, 'asleep', publishedAtMs - DAY_MS - 1),
    ],
    publishedAtMs,
    budgets: [],
    gaps: [],
  });
  expect(lines).toEqual([
    'number 2: flagged gap; it is silent, last heard at 2026-11-19 16:30 UTC',
    'number 1 is silent, last heard at 2026-11-19 16:30 UTC',
    'number 4 is silent, last heard at 2026-11-19 05:29 UTC',
  ]);
});

test('usual is the mean of the same weekday, else of the four weeks, else unknown', () => {
  const day = '2026-11-19';
  const energies = (wh: (daysBefore: number) => number | null) =>
    Object.fromEntries(Array.from({ length: 40 }, (_, index) => [addDays(day, -index), wh(index)]));
  expect(
    usualWh(
      energies((before) => (before % 7 === 0 ? before : 1_000)),
      day,
    ),
  ).toBe((7 + 14 + 21 + 28) / 4);
  const threeThursdays = energies((before) => (before === 7 ? null : before % 7 === 0 ? before : 1_000));
  expect(usualWh(threeThursdays, day)).toBe((14 + 21 + 28) / 3);
  const twoThursdays = energies((before) => (before === 7 || before === 14 ? null : before <= 28 ? 10 : 99));
  expect(usualWh(twoThursdays, day)).toBe(10);
  expect(
    usualWh(
      energies((before) => (before <= 6 ? 5 : null)),
      day,
    ),
  ).toBeNull();
  expect(usualWh({ [day]: 5 }, day)).toBeNull();
});

test('an export that sends mails needs a mail server', () => {
  const destination = { email: { to: ['ada@example.com'] } };
  const config = {
    workgroups: [{ id: 'home' }],
    exports: [
      { id: 'a', workgroup: 'home', report: 'daily_energy', range: 'yesterday', format: 'csv', destination },
    ],
  };
  expect(configSchema.safeParse(config).error?.issues).toMatchObject([
    { path: ['exports', 0, 'destination', 'email'], message: 'needs the mail server: configure mail' },
  ]);
  const mail = { host: 'mail.example.com', from: 'w@example.com' };
  expect(configSchema.safeParse({ ...config, mail }).success).toBe(true);
});
