import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { type Assignment, lakeFolder, warehousePath } from '../../src/pipeline/assignment.ts';
import {
  assessWarehouse,
  removeIdleMarker,
  type StreamEnd,
  writeIdleMarker,
} from '../../src/pipeline/idle-marker.ts';
import { tempDir } from '../support/temp-dir.ts';
import { assignmentOf } from './answers.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 12);
const END: StreamEnd & { isEmpty: boolean } = { epoch: 'log-1', next: 100n, isEmpty: false };

/** A workgroup with a closed warehouse. It hibernates at `END`. */
function hibernated(): Assignment {
  const assignment = assignmentOf(tempDir());
  putWarehouse(assignment);
  writeIdleMarker(assignment, END, NOW_MS);
  return assignment;
}

function putWarehouse(assignment: Assignment): void {
  mkdirSync(dirname(warehousePath(assignment)), { recursive: true });
  writeFileSync(warehousePath(assignment), 'a warehouse');
}

test('a warehouse is idle while stream, settings and size are equal to its marker, and due on another day', () => {
  const assignment = hibernated();
  const assess = (more: { assignment?: Partial<Assignment>; end?: Partial<typeof END>; nowMs?: number }) =>
    assessWarehouse({ ...assignment, ...more.assignment }, { ...END, ...more.end }, more.nowMs ?? NOW_MS);
  expect(assess({})).toBe('idle');
  expect(assess({ nowMs: NOW_MS + 11 * HOUR_MS })).toBe('idle');
  // Messages that were deleted since are landed.
  expect(assess({ end: { isEmpty: true } })).toBe('idle');

  expect(assess({ end: { next: 101n } })).toBe('behind');
  expect(assess({ end: { epoch: 'log-2' } })).toBe('behind');
  expect(assess({ nowMs: NOW_MS + 12 * HOUR_MS })).toBe('due');
  expect(assess({ nowMs: NOW_MS - DAY_MS })).toBe('due');
  expect(assess({ nowMs: NOW_MS + DAY_MS, end: { next: 101n } })).toBe('behind');
  const { pipeline, workgroup, limits } = assignment;
  expect(assess({ assignment: { workgroup: { ...workgroup, timezone: 'Pacific/Auckland' } } })).toBe(
    'behind',
  );
  expect(assess({ assignment: { pipeline: { ...pipeline, closeAfter: 1 } } })).toBe('behind');
  expect(assess({ assignment: { limits: { ...limits, namesPerWorkgroup: 1_234 } } })).toBe('behind');
  // A new bucket does not have the workgroup yet.
  const { storage } = configSchema.parse({
    storage: { s3: { bucket: 'energy', region: 'eu-west-1', accessKeyId: 'key', secretAccessKey: 'secret' } },
  });
  expect(assess({ assignment: { storage } })).toBe('behind');
  // These settings change nothing that is computed.
  expect(assess({ assignment: { pipeline: { ...pipeline, hibernateAfter: 1, openWorkgroupsMax: 1 } } })).toBe(
    'idle',
  );

  appendFileSync(warehousePath(assignment), '.');
  expect(assess({})).toBe('behind');
});

test('the day is a day of the zone of the workgroup', () => {
  const assignment = hibernated();
  const workgroup = { ...assignment.workgroup, timezone: 'Pacific/Auckland' };
  // It is 01:00 of the next day there.
  const auckland = { ...assignment, workgroup };
  writeIdleMarker(auckland, END, NOW_MS);
  expect(assessWarehouse(auckland, END, NOW_MS + 22 * HOUR_MS)).toBe('idle');
  expect(assessWarehouse(auckland, END, NOW_MS + 23 * HOUR_MS)).toBe('due');
});

test.each([
  // Clocks go back at 03:00, so 90 minutes after midnight are still before it.
  { name: 'an hour and a half', closeAfter: 1.5 * HOUR_MS, dueAtMs: Date.UTC(2026, 9, 24, 23, 30) },
  // Five hours after midnight it is 04:00 by the clock on that day.
  { name: 'more than a day', closeAfter: DAY_MS + 5 * HOUR_MS, dueAtMs: Date.UTC(2026, 9, 25, 3) },
])('a warehouse is due at the moment when another day is final: $name', ({ closeAfter, dueAtMs }) => {
  const assignment = assignmentOf(tempDir());
  const berlin = {
    ...assignment,
    workgroup: { ...assignment.workgroup, timezone: 'Europe/Berlin' },
    pipeline: { ...assignment.pipeline, closeAfter },
  };
  putWarehouse(berlin);
  writeIdleMarker(berlin, END, Date.UTC(2026, 9, 24, 22));
  expect(assessWarehouse(berlin, END, dueAtMs - 1)).toBe('idle');
  expect(assessWarehouse(berlin, END, dueAtMs)).toBe('due');
  writeIdleMarker(berlin, END, dueAtMs);
  expect(assessWarehouse(berlin, END, Date.UTC(2026, 9, 25, 22, 59, 59))).toBe('idle');
});

test('without a stream, a warehouse is idle if it never had one', () => {
  const assignment = hibernated();
  expect(assessWarehouse(assignment, undefined, NOW_MS)).toBe('behind');
  writeIdleMarker(assignment, { epoch: 'none', next: 0n }, NOW_MS);
  expect(assessWarehouse(assignment, undefined, NOW_MS)).toBe('idle');
});

test('a marker that is removed, damaged or without its warehouse is not believed', () => {
  const assignment = hibernated();
  const marker = `${warehousePath(assignment)}.idle.json`;
  removeIdleMarker(assignment);
  expect(existsSync(marker)).toBe(false);
  expect(assessWarehouse(assignment, END, NOW_MS)).toBe('behind');
  // Removing it again changes nothing.
  removeIdleMarker(assignment);

  for (const text of ['', '{', '{}', '{"logEpoch":"log-1","nextOffset":"100"}']) {
    writeFileSync(marker, text);
    expect(assessWarehouse(assignment, END, NOW_MS)).toBe('behind');
  }
  writeIdleMarker(assignment, END, NOW_MS);
  expect(assessWarehouse(assignment, END, NOW_MS)).toBe('idle');
  rmSync(warehousePath(assignment));
  expect(assessWarehouse(assignment, END, NOW_MS)).toBe('behind');
});

test('a workgroup is new until it has a message, a warehouse or a lake', () => {
  const assignment = assignmentOf(tempDir());
  const empty = { ...END, isEmpty: true };
  expect(assessWarehouse(assignment, undefined, NOW_MS)).toBe('new');
  expect(assessWarehouse(assignment, empty, NOW_MS)).toBe('new');
  expect(assessWarehouse(assignment, END, NOW_MS)).toBe('behind');
  // A lake without its warehouse is a fault, which opening reports.
  mkdirSync(join(lakeFolder(assignment), assignment.workgroup.id), { recursive: true });
  expect(assessWarehouse(assignment, empty, NOW_MS)).toBe('behind');

  const other = assignmentOf(tempDir());
  putWarehouse(other);
  expect(assessWarehouse(other, undefined, NOW_MS)).toBe('behind');
});
