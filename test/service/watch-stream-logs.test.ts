import { expect, test } from 'vitest';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { watchStreamLogs } from '../../src/service/watch-stream-logs.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The logs of a process. Those with an error cannot be opened. */
function setUp(errors: Record<string, Error>) {
  const { openLog, readiness } = watchStreamLogs(tempDir(), (workgroupId) => {
    if (errors[workgroupId]) throw errors[workgroupId];
    return {} as StreamLog;
  });
  const ready = async (maySeeNames = true) => (await readiness({ maySeeNames }))!;
  return { openLog, ready };
}

test('a process with a log that cannot be opened is not ready, until it can be', async () => {
  const errors: Record<string, Error> = { home: new TerminalError('DamagedLog', 'the log is damaged') };
  const { openLog, ready } = setUp(errors);
  expect(await ready()).toEqual({ ok: true, detail: { freeMebibytes: expect.any(Number), failedLogs: 0 } });
  expect(() => openLog('home')).toThrow('the log is damaged');
  expect(await ready()).toMatchObject({
    ok: false,
    detail: { failedLogs: 1, problems: ['workgroup home: the log is damaged'] },
  });
  openLog('plant');
  expect(await ready()).toMatchObject({ ok: false });
  delete errors.home;
  openLog('home');
  expect(await ready()).toMatchObject({ ok: true, detail: { failedLogs: 0 } });
});

test('an error that passes does not count, because the next request tries again', async () => {
  const { openLog, ready } = setUp({ home: new TransientError('TooManyLogs', 'later') });
  expect(() => openLog('home')).toThrow('later');
  expect(await ready()).toMatchObject({ ok: true });
});

test('20 problems are listed, and strangers see no names', async () => {
  const ids = Array.from({ length: 21 }, (_, index) => `w${index}`);
  const damaged = ids.map((id) => [id, new TerminalError('DamagedLog', 'damaged')]);
  const { openLog, ready } = setUp(Object.fromEntries(damaged));
  for (const id of ids) expect(() => openLog(id)).toThrow();
  const { detail } = await ready();
  expect([detail!.failedLogs, (detail!.problems as string[]).length]).toEqual([21, 20]);
  const { ok, detail: seen } = await ready(false);
  expect([ok, seen]).toMatchObject([
    false,
    { failedLogs: 21, note: expect.stringContaining('ask this process directly') },
  ]);
  expect(JSON.stringify(seen)).not.toContain('w1');
});
