import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { fromPlainError, toPlainError } from '../../src/lib/plain-error.ts';
import { failureWords } from '../../src/pipeline/failure-words.ts';
import { warehouseFailure } from '../../src/warehouse/warehouse-failures.ts';
import { tempDir } from '../support/temp-dir.ts';

/** What the work throws, as it comes from the pipeline's thread. */
async function thrown(work: () => unknown): Promise<Error> {
  try {
    await work();
  } catch (error) {
    return fromPlainError(toPlainError(error));
  }
  throw new Error('it did not fail');
}

async function refused(sql: string): Promise<unknown> {
  const instance = await DuckDBInstance.create(':memory:');
  onTestFinished(() => instance.closeSync());
  const connection = await instance.connect();
  return connection.run(sql).catch((error: unknown) => error);
}

test('our own errors are shown unchanged on one line, with their details', () => {
  const error = new TransientError('UpstreamFailed', 'the server is away:\n  try later', {
    details: { device: 'd-1', field: 'total\u001b[31m' },
  });
  expect(failureWords(error)).toEqual({
    code: 'UpstreamFailed',
    message: 'the server is away: try later (device d-1, field total\\u001b[31m)',
  });
  const told = new TransientError('UpstreamFailed', 'd-1 is away', {
    details: { device: 'd-1', source: 7, field: 'total' },
  });
  expect(failureWords(told).message).toBe('d-1 is away (field total)');
  expect(failureWords(new TerminalError('NoSuchTable', 'there is none; make one')).message).toBe(
    'there is none; make one',
  );
});

test.each(['Permission denied', 'Operation not permitted', 'Read-only file system'])(
  'a file that the database may not write is named, with what to do: %s',
  (refusal) => {
    const error = new Error(`IO Error: Cannot open file "/data/lake/home/staging/1.parquet": ${refusal}`);
    expect(failureWords(error)).toEqual({
      code: 'WarehouseNotWritable',
      message:
        '/data/lake/home/staging/1.parquet cannot be written; give this user the permissions for the file and its folder',
    });
  },
);

test('errors of zod and the database are shown by their kind, without JSON, SQL or values', async () => {
  const shape = z.object({ days: z.array(z.object({ energyWh: z.number() })) });
  const zod = await thrown(() => shape.parse({ days: [{ energyWh: 'a lot' }] }));
  expect(failureWords(zod).message).toMatch(
    /^a value has the wrong form \(at days, 0, energyWh\): .* report it/,
  );
  for (const [sql, words] of [
    ["SELECT 'secret'::INTEGER AS e", 'a stored value cannot be read'],
    ['SELECT 9223372036854775807 + 1::BIGINT', 'a number is too large'],
    ['SELECT * FROM no_such_table', 'the warehouse lacks tables'],
    ['SELEC 1', 'the warehouse lacks tables'],
  ] as const) {
    const raw = await refused(sql);
    for (const error of [
      await thrown(() => Promise.reject(raw)),
      warehouseFailure(raw, '/data/home.duckdb'),
    ]) {
      const { message } = failureWords(error);
      expect(message).toMatch(new RegExp(`^${words}.* report it`));
      expect(message).not.toMatch(/SELEC|secret|no_such_table|LINE \d|Error:/);
    }
  }
});

test('a key that exists twice names its device and source', async () => {
  const raw = await refused(
    "CREATE TABLE t (device TEXT, source TEXT, PRIMARY KEY (device, source)); INSERT INTO t VALUES ('d-1', 'roof'), ('d-1', 'roof')",
  );
  const { message } = failureWords(await thrown(() => Promise.reject(raw)));
  expect(message).toMatch(/stored rows contradict each other/);
  expect(message).toMatch(/d-1.*roof/);
});

test('errors of the system name the file and the next step', async () => {
  const folder = tempDir();
  writeFileSync(join(folder, 'lake'), '');
  const error = await thrown(() => mkdir(join(folder, 'lake', 'home'), { recursive: true }));
  expect(failureWords(error).message).toMatch(/lake.* a file is in its place: move the file away$/);
  const missing = await thrown(() => mkdirSync(join(folder, 'none', 'home')));
  expect(failureWords(missing).message).toContain(`${join(folder, 'none', 'home')} is missing`);
});

test.each([
  ['ENOSPC', 'cannot be written: the disk (or its quota) is full. Free some space; the stage then continues'],
  ['EDQUOT', 'cannot be written: the disk (or its quota) is full. Free some space; the stage then continues'],
  ['EACCES', 'cannot be written: give this user the permissions for the file and its folder'],
  ['EPERM', 'cannot be written: give this user the permissions for the file and its folder'],
  ['EROFS', 'cannot be written: give this user the permissions for the file and its folder'],
  ['ENOTDIR', 'should be a folder or in a folder, but a file is in its place: move the file away'],
  ['EEXIST', 'should be a folder or in a folder, but a file is in its place: move the file away'],
  ['EISDIR', 'is a folder, but a file is expected: move the folder away'],
  ['ENOENT', 'is missing: it was removed, or its disk is not mounted; restore it'],
  ['EMFILE', 'cannot be opened: this process has too many files open; raise the limit (ulimit -n)'],
  ['ENFILE', 'cannot be opened: this process has too many files open; raise the limit (ulimit -n)'],
  ['EIO', 'cannot be used (EIO): check its disk and its permissions'],
])('the next step after %s', (code, words) => {
  const error = (text: string) => Object.assign(new Error(`${code}: its text, open${text}`), { code });
  expect(failureWords(error(" '/data/lake'"))).toEqual({ code, message: `/data/lake ${words}` });
  expect(failureWords(error('')).message).toBe(`a file ${words}`);
});

test.each([
  ['Constraint Error: NOT NULL constraint failed: t.a', 'stored rows contradict each other'],
  [
    'Constraint Error: Duplicate key "device: d-1" violates it',
    'stored rows contradict each other at device: d-1',
  ],
  ['Out of Range Error: Overflow in addition', 'a number is too large'],
  ['Invalid Input Error: Could not parse', 'a stored value cannot be read'],
  [
    'Catalog Error: Table x does not exist',
    'the warehouse lacks tables that this version of Wattline expects',
  ],
  [
    'IO Error: Could not read "/data/a.parquet": it ends',
    'the file /data/a.parquet cannot be read or written',
  ],
  ['IO Error: Could not read', 'a file cannot be read or written'],
  ['HTTP Error: GET 500', 'a file cannot be read or written'],
  ['INTERNAL Error: Assertion failed', 'the database failed'],
  ['[{"path":["a",0],"message":"too small"}]', 'a value has the wrong form (at a, 0): too small'],
  ['[{"path":[]}]', 'a value has the wrong form: it is not valid'],
  ['[no JSON', 'an unknown error; its text is only in the log, because it can contain values'],
])('an error of the kind "%s"', (text, words) => {
  const { code, message } = failureWords(new Error(text));
  expect([code, message.slice(0, words.length + 2)]).toEqual(['Unexpected', `${words}. `]);
});

test('the text of an unknown error is not shown, because it may contain values, and its place in the log is named', async () => {
  const error = await thrown(() => {
    throw new Error('the reading 4711.5 is bad');
  });
  const { code, message } = failureWords(error);
  expect(code).toBe('Unexpected');
  expect(message).toMatch(/^an unknown error; its text is only in the log, .* report it/);
  expect(message).not.toContain('4711');
});
