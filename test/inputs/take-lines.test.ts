import { expect, onTestFinished, test } from 'vitest';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { createLineReader } from '../../src/inputs/read-influx-line.ts';
import { takeLines } from '../../src/inputs/take-lines.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

const LINE_CHARACTERS = 200_000;
const LINES = 8;

/** Counts the turns that other work gets. */
function countTurns(): () => number {
  let turns = 0;
  let next = setImmediate(count);
  function count() {
    turns++;
    next = setImmediate(count);
  }
  onTestFinished(() => clearImmediate(next));
  return () => turns;
}

/** A line of very many fields. */
function longLine(measurement: string): string {
  const fields: string[] = [];
  for (let length = 0; length < LINE_CHARACTERS; length += fields.at(-1)!.length + 1)
    fields.push(`f${fields.length}=1`);
  return `${measurement},host=garage ${fields.join(',')}`;
}

function setUp() {
  const rules = [
    { measurement: 'power', table: 'power', device: '{host}' },
    { measurement: 'kWh', table: 't', device: '{host}', fields: { wh: { from: 'value', scale: 1_000 } } },
  ];
  const counter = createInputCounter(
    { workgroupId: 'acme', input: 'lines', kind: 'lines', address: '/write', connection: 'idle' },
    createTestClock(TEST_START_MS),
  );
  const read = createLineReader({ devices: [] }, rules);
  const context = { precision: 'ms' as const, receivedAtMs: TEST_START_MS, devices: 'all' as const };
  const take = (text: string) => takeLines(text, read, context, counter);
  return { take, counter };
}

test.each([
  [
    'a text that is to be scaled',
    'kWh,host=a value="1"',
    'the field "value" must be a number, because it has',
  ],
  ['a field that cannot be stored', 'power,host=a __proto__=1', 'the field cannot be "__proto__"'],
  ['a line that is too long', `power,host=a x="${'y'.repeat(262_144)}"`, 'more than 262144 characters'],
])('%s is refused, and the line after it is taken', async (_name, line, reason) => {
  const taken = await setUp().take(`${line}\npower,host=a x=1`);
  expect(taken).toMatchObject({
    accepted: 1,
    refused: [{ line: 1, reason: expect.stringContaining(reason) }],
  });
});

test('the first 100 bad lines are listed, and all are counted', async () => {
  const { take, counter } = setUp();
  const taken = await take('power x=1\n'.repeat(101));
  expect(taken.refusedCount).toBe(101);
  expect(taken.refused.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  expect(counter.state().refused).toBe(101);
});

test.each([
  ['are refused', 'power', { accepted: 0, refusedCount: LINES, readings: 0 }],
  ['are about no rule', 'other', { accepted: LINES, refusedCount: 0, readings: 0 }],
])('other work gets a turn after each long line, even if the lines %s', async (_, measurement, expected) => {
  const text = Array.from({ length: LINES }, () => longLine(measurement)).join('\n');
  const turns = countTurns();
  const { take, counter } = setUp();
  expect(await take(text)).toMatchObject(expected);
  expect(turns()).toBeGreaterThanOrEqual(LINES);
  if (expected.refusedCount > 0)
    expect(counter.state().lastRefused?.reason).toBe('data must have at most 1000 fields');
});

test('a line may end with CR and LF, as on Windows', async () => {
  const { take } = setUp();
  expect(await take('power,host=a wh=1\r\npower,host=a wh=2\r')).toMatchObject({ accepted: 2, refused: [] });
});
