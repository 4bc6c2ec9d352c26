import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { attentionLines } from '../../src/exports/morning-attention.ts';
import type { DeviceWeeks, MorningFacts } from '../../src/exports/morning-facts.ts';
import { writeMorningMail } from '../../src/exports/morning-mail.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import type { DeviceState } from '../../src/report/device-states.ts';
import { deviceId } from '../support/messages.ts';

const day = '2026-11-19';
const publishedAtMs = Date.parse('2026-11-20T05:30:00Z');

function factsOf(facts: Partial<MorningFacts>, workgroup: object = {}): MorningFacts {
  const { workgroups } = configSchema.parse({ workgroups: [{ id: 'home', ...workgroup }] });
  const none = { balances: [], devices: [], states: [], budgets: [], gaps: [] };
  return { day, workgroup: workgroups[0]!, publishedAtMs, ...none, ...facts };
}

const device = (name: string, wh: number | null, more: Partial<DeviceWeeks> = {}): DeviceWeeks => ({
  ...{ device: name, energies: { [day]: wh }, flags: [], coverage: 1, lastDay: null },
  ...more,
});
const state = (name: string, more: Partial<DeviceState> = {}): DeviceState => ({
  ...{ device: name, name: undefined, state: 'offline', reason: 'timeout', sinceMs: publishedAtMs },
  lastSeenMs: Date.parse('2026-11-19T18:02:00Z'),
  ...more,
});
const silence = 'it is silent, last heard at 2026-11-19 18:02 UTC';

test('gaps come first, then balances that are refused, and then devices: unknown, flagged and silent ones', () => {
  const facts = factsOf(
    {
      gaps: [{ fromMs: publishedAtMs, toMs: publishedAtMs + 60_000, reason: 'expired' }],
      balances: [
        { name: 'barn', refusal: 'too many days' },
        { name: 'house', days: {} },
      ],
      devices: [
        device('silent', 5),
        device('flagged', 5, { flags: ['gap'] }),
        device('unknown', null, { flags: ['partial'], lastDay: '2026-11-12' }),
        device('fine', 5),
      ],
      states: [state('silent')],
    },
    { devices: [{ id: deviceId(1), name: 'never' }] },
  );
  expect(attentionLines(facts)).toEqual([
    'messages are missing from 2026-11-20 05:30 UTC to 2026-11-20 05:31 UTC (expired); a backfill can fetch them',
    'barn has no balance: too many days',
    'unknown: energy unknown, last known on 2026-11-12; flagged partial',
    'never: energy unknown since 2026-10-22 or earlier',
    'flagged: flagged gap',
    'silent is silent, last heard at 2026-11-19 18:02 UTC',
  ]);
});

test('a silent device has one line, which says when it was last heard', () => {
  const devices = [device('unknown', null), device('flagged', 5, { flags: ['gap'] }), device('plain', 5)];
  const states = ['unknown', 'flagged', 'plain'].map((name) => state(name));
  expect(attentionLines(factsOf({ devices, states }))).toEqual([
    `unknown: energy unknown; ${silence}`,
    `flagged: flagged gap; ${silence}`,
    'plain is silent, last heard at 2026-11-19 18:02 UTC',
  ]);
  expect(attentionLines(factsOf({ devices, states: [state('plain', { lastSeenMs: null })] })).at(-1)).toBe(
    'plain is silent',
  );
});

test('a device is not silent if it is online or asleep, and it is not asleep for more than a day', () => {
  const linesOf = (more: Partial<DeviceState>) =>
    attentionLines(factsOf({ devices: [device('roof', 5)], states: [state('roof', more)] })).length;
  expect(linesOf({ state: 'online' })).toBe(0);
  expect(linesOf({ state: 'unknown' })).toBe(0);
  expect(linesOf({ reason: 'asleep' })).toBe(0);
  expect(linesOf({ reason: 'asleep', lastSeenMs: publishedAtMs - 2 * DAY_MS })).toBe(1);
  // What is unknown says when it was last heard, even if it is not silent.
  const asleep = { devices: [device('roof', null)], states: [state('roof', { reason: 'asleep' })] };
  expect(attentionLines(factsOf(asleep))).toEqual([
    'roof: energy unknown, last heard at 2026-11-19 18:02 UTC',
  ]);
});

test('names are only text in a mail: HTML is escaped, and invisible characters can be seen', () => {
  const name = 'a<b>&"c"\u0007';
  const seen = 'a<b>&"c"\\u0007';
  const facts = factsOf({
    devices: [device(name, 10, { flags: ['gap'] })],
    budgets: [{ site: name, actualWh: 10, budgetWh: 10, partial: false }],
    balances: [
      { name, days: { [day]: { autarky: 1, parts: [{ device: name, role: 'grid_import' }] } as never } },
    ],
  });
  const { text, html } = writeMorningMail(facts, { link: 'https://a/?b&c', notes: [`a note of ${name}`] });
  expect(
    text.split('\n\n').flatMap((block) => block.split('\n').filter((line) => line.includes('<b>'))),
  ).toEqual([
    expect.stringMatching(/^a<b>&"c"\\u0007 {2,}energy/),
    expect.stringMatching(/^ {2}a<b>&"c"\\u0007 \(grid import\) {2,}0\.01 kWh/),
    expect.stringMatching(/^ {2}a<b>&"c"\\u0007 {2,}0\.01 kWh/),
    `- ${seen}: flagged gap`,
    `a note of ${name}`,
  ]);
  expect(html).not.toContain('<b>');
  expect(html.split('a&lt;b&gt;&amp;&quot;c&quot;')).toHaveLength(6);
  expect(html).toContain('<a href="https://a/?b&amp;c">https://a/?b&amp;c</a>');
});
