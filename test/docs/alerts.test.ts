import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { alertConditions, conditionNames } from '../../src/alerts/alert-conditions.ts';
import { alertFlags, alertsSchema } from '../../src/config/alert-settings.ts';
import { configSchema } from '../../src/config/config.ts';
import { parseQuantity } from '../../src/lib/units.ts';
import { openWatch, startReceiver } from '../alerts/watch-fixture.ts';
import { blocksOf, pages } from '../support/readme.ts';

const page = 'docs/alerts.md';
const rows = [...pages.get(page)!.matchAll(/^\| `(\w+)` \| .+ \| (.+) \| (\w+) \|$/gm)];

test('the table of conditions has all of them, in the order of messages, with the defaults', () => {
  expect(rows.map(([, name]) => name)).toEqual(conditionNames);
  const { conditions } = alertsSchema.parse({});
  for (const [, name, limit, lasts] of rows) {
    const settings = conditions[name as keyof typeof conditions] as { limit?: unknown; for: number };
    expect(lasts === '0' ? 0 : parseQuantity('duration', lasts!), name).toBe(settings.for);
    if (typeof settings.limit !== 'number') continue;
    const shown = /^[\d.]+$/.test(limit!) ? Number(limit) : parseQuantity('duration', limit!);
    expect(shown, name).toBe(settings.limit);
  }
  for (const flag of alertFlags) expect(pages.get(page)).toContain(`\`${flag}\``);
});

test('the urgent conditions are named', () => {
  const [, named] = /^These conditions are urgent.+: (.+)\.$/m.exec(pages.get(page)!)!;
  const urgent = conditionNames.filter((name) => alertConditions[name].isUrgent);
  expect(named).toBe(urgent.map((name) => `\`${name}\``).join(', '));
});

test('each example of settings is a valid configuration', () => {
  const examples = blocksOf(page, 'yaml');
  expect(examples).toHaveLength(2);
  for (const text of examples) {
    const settings = parse(text) as object;
    expect(configSchema.safeParse(settings).error?.issues).toBeUndefined();
  }
});

test('the body of a webhook is equal to the example of the page', async () => {
  const receiver = await startReceiver();
  const { facts, round } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
  facts.silences = [{ device: 'garage', silentMs: 3_600_000, lastSeenMs: Date.UTC(2026, 10, 20, 10, 12) }];
  await round();
  const shown = JSON.parse(blocksOf(page, 'json')[0]!) as Record<string, unknown>;
  const { id, at, ...sent } = receiver.received[0]!.json;
  const { id: _, at: __, ...expected } = shown;
  expect(sent).toEqual(expected);
});
