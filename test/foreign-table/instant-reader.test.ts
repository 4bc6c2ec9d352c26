import { describe, expect, test } from 'vitest';
import { createInstantReader } from '../../src/foreign-table/instant-reader.ts';

/** The instants of the cells of a column, or why a cell is none. */
function read(zone: string | undefined, ...texts: string[]): string[] {
  const cells = texts.map((text) => ({ text, series: '' }));
  const reader = createInstantReader({ zone, toSetZone: 'set zone' }, cells);
  return cells.map((cell) => {
    const result = reader(cell);
    return result.kind === 'instant' ? new Date(result.ms).toISOString() : result.message;
  });
}

test('a cell is an instant by its offset, or by the clocks of the zone', () => {
  const instants = {
    '2026-05-17T13:05:06.250Z': '2026-05-17T13:05:06.250Z',
    '2026-05-17 13:05 UTC': '2026-05-17T13:05:00.000Z',
    '2026-05-17 13:05:06,25 +0230': '2026-05-17T10:35:06.250Z',
    '17.5.2026 13:05 -03': '2026-05-17T16:05:00.000Z',
    '2026-05-17 13:05': '2026-05-17T11:05:00.000Z',
    '2026-05-17 13:05:06,25': '2026-05-17T11:05:06.250Z',
    '17.05.2026': '2026-05-16T22:00:00.000Z',
    '1970-01-01T00:00Z': '1970-01-01T00:00:00.000Z',
    '2099-12-31T23:59:59Z': '2099-12-31T23:59:59.000Z',
  };
  expect(read('Europe/Berlin', ...Object.keys(instants))).toEqual(Object.values(instants));
  // These formats are guessed from the column.
  expect(read('Europe/Berlin', '05/17/2026 1:05 PM')).toEqual(['2026-05-17T11:05:00.000Z']);
  expect(read('Europe/Berlin', '2026-05-17 13:05', '05/17/2026 1:05 PM')).toEqual([
    '2026-05-17T11:05:00.000Z',
    '2026-05-17T11:05:00.000Z',
  ]);
  expect(read(undefined, '1779015906')).toEqual(['2026-05-17T11:05:06.000Z']);
});

test('a cell that is no instant is a problem with its reason', () => {
  const problems = {
    '2026-05-17 24:00': /is not a time; write it as/,
    '2026-05-17 13:60': /is not a time/,
    '2026-05-17 13:05:60': /is not a time/,
    '2026-02-29 13:05': /is not a time/,
    '1969-12-31T23:59:59Z': /is not within 1970 to 2099$/,
    '2100-01-01T00:00Z': /is not within 1970 to 2099$/,
    '2026-03-29 02:30': /never showed/,
  };
  expect(read('Europe/Berlin', ...Object.keys(problems))).toEqual(
    Object.values(problems).map((message) => expect.stringMatching(message)),
  );
  expect(read('Europe/Berlin', '05/06/2026')[0]).toContain('not clear if the day or the month comes first');
});

describe('a time that clocks showed twice', () => {
  test.each([
    ['Europe/London', '2026-10-25 01:30', '+01:00 or +00:00'],
    ['America/St_Johns', '2026-11-01 01:30', '-02:30 or -03:30'],
    ['Australia/Lord_Howe', '2026-04-05 01:45', '+11:00 or +10:30'],
  ])('in %s has one of two offsets', (zone, text, offsets) => {
    expect(read(zone, text)[0]).toMatch(new RegExp(`twice.*: ${RegExp.escape(offsets)}$`));
  });

  test('is known by the order of its series alone', () => {
    const times = ['01:30', '02:00', '02:30', '02:00', '02:30', '03:00'].map((time) => `2026-10-25 ${time}`);
    const cells = [...times.map((text) => ({ text, series: 'A' })), { text: times[1]!, series: 'B' }];
    const reader = createInstantReader({ zone: 'Europe/Berlin', toSetZone: 'set zone' }, cells);
    const found = cells.map((cell) => reader(cell));
    expect(found.slice(1, 5)).toEqual(
      ['00:00', '00:30', '01:00', '01:30'].map((time) => ({
        kind: 'instant',
        ms: Date.parse(`2026-10-25T${time}Z`),
      })),
    );
    expect(found[6]!.kind).toBe('problem');
  });
});

test('a local time needs a zone, and an instant does not', () => {
  expect(read(undefined, '2026-05-17 13:05', '2026-05-17 13:05Z')).toEqual([
    expect.stringContaining('names no zone; write the offset behind it, or set zone'),
    '2026-05-17T13:05:00.000Z',
  ]);
});
