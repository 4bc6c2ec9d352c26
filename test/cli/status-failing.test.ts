import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { offsetOf } from '../../src/contract/offset.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS, systemClock } from '../../src/lib/time.ts';
import type { Trouble } from '../../src/pipeline/trouble.ts';
import { createStatusBook, type StatusBook } from '../../src/pipeline/workgroup-status.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const config = `
dataDir: data
workgroups:
  - { id: home, energyStreams: [{ table: solar, field: e, method: total_energy }] }
  - { id: other, energyStreams: [{ table: solar, field: e, method: total_energy }] }
`;

/** A data folder with this status of a worker, written this long ago. */
async function written(write: (book: StatusBook, nowMs: number) => void, agoMs = 0) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), config);
  mkdirSync(join(cwd, 'data'));
  const clock = { now: () => systemClock.now() - agoMs };
  const book = createStatusBook({ dataDir: join(cwd, 'data'), clock, logger: silentLogger });
  write(book, clock.now());
  await book.flush();
  return cwd;
}

const upToDate = { upToDate: true, lagMessages: 0, lagSeconds: 0 };
const trouble: Trouble = {
  workgroupId: 'home',
  stage: 'rollup',
  state: 'failing',
  sinceMs: 0,
  message: 'it has been failing since noon: a number is too large; correct it',
};

test('status has a special exit code if a stage has failed for minutes, and names workgroup and stage', async () => {
  const cwd = await written((book, nowMs) => {
    book.update('home', 'poll', { ...upToDate, lastSuccessAtMs: nowMs });
    book.update('other', 'poll', { ...upToDate, lastSuccessAtMs: nowMs });
    book.note('home', { troubles: [trouble] });
  });
  const line =
    'workgroup home, computing energy (rollup): it has been failing since noon: a number is too large; correct it';
  const { code, stdout, stderr } = await runCommand(['status'], { cwd });
  expect({ code, stderr }).toEqual({ code: 4, stderr: `wattline: ${line}\n` });
  expect(stdout).toContain(`\nfailing: ${line}\n`);
  expect(stdout).toMatch(/^home +failing .*\nother +running /m);
  const json = await runCommand(['status', '--json'], { cwd });
  expect(json.code).toBe(4);
  expect(JSON.parse(json.stdout)).toMatchObject([
    { state: 'failing', troubles: [trouble] },
    { troubles: [] },
  ]);
  expect(JSON.parse(json.stderr)).toMatchObject({ error: 'WorkgroupsFailing', retryable: true });
  expect((await runCommand(['status', '-w', 'other'], { cwd })).code).toBe(0);
});

test('store times ahead of the clock are a trouble, also while nothing arrives and after the worker has ended', async () => {
  const aheadOf = (nowMs: number, minutes: number) => String(offsetOf(nowMs + minutes * MINUTE_MS));
  const write = (book: StatusBook, nowMs: number) => {
    book.update('home', 'poll', { ...upToDate, lastSuccessAtMs: nowMs, nextOffset: aheadOf(nowMs, 90) });
    book.update('other', 'poll', { ...upToDate, lastSuccessAtMs: nowMs, nextOffset: aheadOf(nowMs, 3) });
  };
  const cwd = await written(write);
  const { code, stdout } = await runCommand(['status'], { cwd });
  expect(code).toBe(4);
  expect(stdout).toMatch(/^home +failing .*\nother +running /m);
  expect(stdout).toMatch(
    /^failing: workgroup home, storing messages: the newest message has the store time .*, which is 90m ahead of the clock/m,
  );
  const doctor = await runCommand(['doctor'], { cwd });
  expect(doctor.stdout).toMatch(/^problem +workgroups: workgroup home, storing messages: .* 90m ahead /m);
  const ended = await runCommand(['status', '-w', 'home', '--json'], {
    cwd: await written(write, MINUTE_MS),
  });
  expect(JSON.parse(ended.stdout)).toMatchObject([{ state: 'stopped', troubles: [{ stage: 'store' }] }]);
  // The offsets of other servers are numbers without a meaning.
  const upstream = config.replace('id: home,', 'id: home, upstream: { url: http://127.0.0.1:1, token: t },');
  writeFileSync(join(cwd, 'wattline.yaml'), upstream);
  expect((await runCommand(['status', '-w', 'home'], { cwd })).code).toBe(0);
});

test('the status of a worker that has ended is not shown as current', async () => {
  const cwd = await written((book) => book.note('home', { troubles: [trouble] }), MINUTE_MS);
  const { code, stdout } = await runCommand(['status', '-w', 'home', '--json'], { cwd });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([{ state: 'stopped', troubles: [] }]);
});

test('a failing stage shows its lag, and not 0', async () => {
  const cwd = await written((book, nowMs) => {
    const lastError = { atMs: nowMs, message: 'no' };
    const lastSuccessAtMs = nowMs - 90 * SECOND_MS;
    book.update('home', 'poll', { ...upToDate, lastSuccessAtMs, lastError, failingSinceMs: nowMs });
    book.update('other', 'poll', { ...upToDate, lastSuccessAtMs: nowMs });
    // The stage has not succeeded since the worker was started.
    book.update('other', 'rollup', { lastError, failingSinceMs: nowMs - 50 * SECOND_MS });
  });
  const { stdout } = await runCommand(['status', '--json'], { cwd });
  const [home, other] = JSON.parse(stdout) as Array<{
    lagSeconds: number;
    poll: { lagSeconds: number; lagMessages?: number };
  }>;
  expect(home!.lagSeconds).toBeGreaterThanOrEqual(90);
  expect(home!.poll.lagSeconds).toBe(home!.lagSeconds);
  expect(home!.poll.lagMessages).toBeUndefined();
  expect(other!.lagSeconds).toBeGreaterThanOrEqual(50);
  expect(other!.poll).toMatchObject({ lagSeconds: 0, lagMessages: 0 });
});

test('a warehouse that cannot be opened is reported, and the others are shown', async () => {
  const cwd = await written((book, nowMs) =>
    book.update('other', 'poll', { ...upToDate, lastSuccessAtMs: nowMs }),
  );
  mkdirSync(join(cwd, 'data', 'warehouse'));
  writeFileSync(join(cwd, 'data', 'warehouse', 'home.duckdb'), 'no database'.repeat(1_000));
  const { code, stdout } = await runCommand(['status'], { cwd });
  expect(code).toBe(4);
  expect(stdout).toMatch(/^other +running /m);
  expect(stdout).toMatch(
    /^failing: workgroup home, opening the data: .*home\.duckdb is not a DuckDB file; move it away/m,
  );
});

test('a half-written status file counts as missing', async () => {
  const cwd = await written((book, nowMs) =>
    book.update('other', 'poll', { ...upToDate, lastSuccessAtMs: nowMs }),
  );
  writeFileSync(join(cwd, 'data', 'status', 'home.json'), '{"workgroupId":');
  const { code, stdout } = await runCommand(['status'], { cwd });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^home +never run /m);
});

test('control characters in names are not printed in tables, in lines or in JSON', async () => {
  const source = 'roof\u001b]0;title\u0007\u202e\u009b31m\nfailing: workgroup other';
  const cwd = await written((book, nowMs) => {
    book.update('home', 'poll', {
      ...upToDate,
      lastSuccessAtMs: nowMs,
      nextOffset: '1\u001b[2J',
      lastError: { atMs: nowMs, message: `source ${source}` },
    });
    book.note('home', {
      problems: [{ path: 'p', message: `source ${source}` }],
      troubles: [{ ...trouble, message: source }],
    });
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them
  const unseen = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;
  for (const args of [['status'], ['status', '--json']]) {
    const { stdout, stderr } = await runCommand(args, { cwd });
    expect(stdout + stderr).not.toMatch(unseen);
    expect(stdout + stderr).not.toMatch(/^failing: workgroup other/m);
  }
  const { stdout } = await runCommand(['status'], { cwd });
  expect(stdout).toContain('1\\u001b[2J');
  expect(stdout).toContain('problem: p: source roof\\u001b]0;title\\u0007\\u202e\\u009b31m\\u000afailing');
  const json = await runCommand(['status', '--json'], { cwd });
  expect(JSON.parse(json.stdout)).toMatchObject([{ problems: [{ message: `source ${source}` }] }, {}]);
});
