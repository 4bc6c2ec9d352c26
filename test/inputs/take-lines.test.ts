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

test.each([
  ['are refused', 'power', { accepted: 0, refusedCount: LINES, readings: 0 }],
  ['are about no rule', 'other', { accepted: LINES, refusedCount: 0, readings: 0 }],
])('other work gets a turn after each long line, even if the lines %s', async (_, measurement, expected) => {
  const rules = [{ measurement: 'power', table: 'power', device: '{host}' }];
  const clock = createTestClock(TEST_START_MS);
  const counter = createInputCounter(
    { workgroupId: 'acme', input: 'lines', kind: 'lines', address: '/write', connection: 'idle' },
    clock,
  );
  const read = createLineReader({ devices: [] }, rules);
  const text = Array.from({ length: LINES }, () => longLine(measurement)).join('\n');
  const turns = countTurns();
  const context = { precision: 'ms' as const, receivedAtMs: TEST_START_MS, devices: 'all' as const };
  expect(await takeLines(text, read, context, counter)).toMatchObject(expected);
  expect(turns()).toBeGreaterThanOrEqual(LINES);
  if (expected.refusedCount > 0)
    expect(counter.state().lastRefused?.reason).toBe('data must have at most 1000 fields');
});
