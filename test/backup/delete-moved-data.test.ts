import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { movedName } from '../../src/backup/delete-moved-data.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { lakeFolder, warehousePath } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { assignmentOf } from '../pipeline/answers.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a worker deletes moved data after 7 days, or a day after newer data was moved, and nothing else', async () => {
  const assignment = assignmentOf(tempDir());
  const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };
  const deleted: string[] = [];
  const info = (fields: { path?: string }, event: string) => {
    if (event === 'moved-data.deleted') deleted.push(fields.path!);
  };
  const open = await openAssignment(assignment, clock, { ...silentLogger, info } as unknown as Logger);
  onTestFinished(() => closeAssignment(open));
  const nowMs = Date.now();
  const warehouse = warehousePath(assignment);
  const lake = join(lakeFolder(assignment), 'acme');
  /** What a restore moves away at a time. */
  const move = (atMs: number) => {
    const names = [warehouse, `${warehouse}.wal`, lake].map((path) => movedName(path, atMs));
    for (const name of names.slice(0, 2)) writeFileSync(name, 'moved');
    mkdirSync(join(names[2]!, 'files'), { recursive: true });
    return names;
  };
  const [earlier, newest, again] = [move(nowMs - 2 * DAY_MS), move(nowMs), move(nowMs)];
  expect(newest.map((path) => basename(path).replace(/\d{4}.*?(?=\.wal|$)/, ''))).toEqual([
    'acme.duckdb.before-restore-',
    'acme.duckdb.before-restore-.wal',
    'acme.before-restore-',
  ]);
  const others = [
    `${warehouse}.before-restore-mine`,
    lake.replace(/acme$/, 'acme2.before-restore-2020-01-01T000000'),
  ];
  for (const other of others) writeFileSync(other, 'of a person');

  const leftAt = async (aheadMs: number) => {
    clock.aheadMs = aheadMs;
    await operations.maintain(open, { dryRun: false });
    return [...earlier, ...newest, ...again].filter((path) => existsSync(path));
  };
  expect(await leftAt(23 * HOUR_MS)).toEqual([...earlier, ...newest, ...again]);
  expect(await leftAt(25 * HOUR_MS)).toEqual([...newest, ...again]);
  expect(await leftAt(7 * DAY_MS - HOUR_MS)).toEqual([...newest, ...again]);
  expect(await leftAt(7 * DAY_MS + HOUR_MS)).toEqual([]);
  expect(deleted.toSorted()).toEqual([...earlier, ...newest, ...again].toSorted());
  expect(others.every((path) => existsSync(path))).toBe(true);
  expect(existsSync(warehouse)).toBe(true);
});
