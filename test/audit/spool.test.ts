import { expect, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

test('entries wait in the order of their times, and entries of the same time in the order of their recording', () => {
  const dataDir = tempDir();
  const spool = openAuditSpool(dataDir, 'home');
  const times = Array.from({ length: 30 }, (_, index) => 1_000 * Math.floor((30 - index) / 3));
  for (const [index, event_time] of times.entries())
    spool.add({ actor: 'ada', action: 'test.done', target: String(index), event_time });
  const sorted = [...times.keys()].sort((a, b) => times[a]! - times[b]! || a - b).map(String);
  expect(spool.waiting().map((name) => spool.read(name)!.target)).toEqual(sorted);
});

test('long texts of an entry are shortened, so that the log takes it', () => {
  const dataDir = tempDir();
  const long = 'x'.repeat(10_000);
  const audit = createAudit({ dataDir, actor: long, clock: createTestClock() });
  audit.record('home', {
    action: 'test.done',
    target: long,
    data: { reason: long, count: 3, left: undefined },
  });
  const spool = openAuditSpool(dataDir, 'home');
  const short = `${'x'.repeat(4_095)}…`;
  expect(spool.waiting().map((name) => spool.read(name))).toMatchObject([
    { actor: short, target: short, data: { reason: short, count: 3 } },
  ]);
});
