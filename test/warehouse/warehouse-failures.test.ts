import { expect, test } from 'vitest';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import {
  isInvalidated,
  isWrongStatement,
  knownFailure,
  warehouseFailure,
} from '../../src/warehouse/warehouse-failures.ts';

const PATH = '/data/home.duckdb';
const failure = (text: string) => warehouseFailure(new Error(text), PATH);

/** Texts of DuckDB, and of older and newer versions of it. */
test.each<[text: string, code: string, retryable: boolean]>([
  [
    'IO Error: Could not set lock on file "x": Conflicting lock is held in /bin/x (PID 4)',
    'WarehouseLocked',
    true,
  ],
  ['IO Error: Could not set lock on file "x": Resource busy', 'WarehouseLocked', true],
  ['IO Error: Could not write file "x": No space left on device', 'DiskFull', true],
  [
    'Out of Memory Error: failed to offload data block (max_temp_directory_size is 0 bytes)',
    'DiskFull',
    true,
  ],
  ['IO Error: The file "x" exists, but it is not a valid DuckDB database file!', 'NotAWarehouse', false],
  ['IO Error: Trying to read a database file with version number 99', 'WarehouseTooNew', false],
  ['IO Error: unknown storage version', 'WarehouseTooNew', false],
  ['IO Error: the file was made by a Newer version of DuckDB', 'WarehouseTooNew', false],
  ['IO Error: Cannot open file "x": Permission denied', 'WarehouseNotWritable', false],
  ['IO Error: Cannot open file "x": Operation not permitted', 'WarehouseNotWritable', false],
  ['IO Error: Cannot open file "x": Read-only file system', 'WarehouseNotWritable', false],
  ['Out of Memory Error: could not allocate block', 'WarehouseOutOfMemory', true],
  ['IO Error: Corrupt database file: computed checksum 1 does not match 2', 'WarehouseCorrupt', false],
  ['Serialization Error: expected end of object', 'WarehouseCorrupt', false],
  ['INTERNAL Error: Failed to deserialize: unknown type', 'WarehouseCorrupt', false],
  ['IO Error: Could not read enough bytes from file "x"', 'WarehouseCorrupt', false],
  ['Conversion Error: something else', 'WarehouseFailure', true],
])('"%s" is %s, and may succeed later: %s', (text, code, retryable) => {
  const error = failure(text);
  expect(error).toMatchObject({ code, retryable, details: { path: PATH } });
  expect((error.cause as Error).message).toBe(text);
  expect(knownFailure(new Error(text), PATH)?.code).toBe(code === 'WarehouseFailure' ? undefined : code);
});

test('a process that holds the file is named', () => {
  const pid = 2 ** 22 + 1;
  const held = failure(
    `IO Error: Could not set lock on file "x": Conflicting lock is held in /bin/other (PID ${pid})`,
  );
  expect(held.message).toContain(`${PATH} is held by process ${pid} (/bin/other); only one process`);
  expect(held.details).toEqual({ path: PATH, holderPid: pid });
  const unknown = failure('IO Error: Could not set lock on file "x"');
  expect(unknown.message).toContain(`${PATH} is held by another process; only one process`);
  expect(unknown.details).toEqual({ path: PATH });
});

test('the file that cannot be written is named, or else the warehouse', () => {
  expect(failure('Cannot open file "/lake/1.parquet": Permission denied').message).toMatch(
    /^\/lake\/1.parquet /,
  );
  expect(failure('Permission denied').message).toMatch(/^\/data\/home.duckdb cannot be written/);
});

test('of a long text of DuckDB, the first line is shown, up to 300 characters', () => {
  const text = `Conversion Error: ${'x'.repeat(400)}`;
  expect(failure(`${text}\nLINE 1: SELECT`).message).toBe(`${PATH}: ${text.slice(0, 300)}`);
  expect(failure('short\nLINE 1: SELECT').message).toBe(`${PATH}: short`);
});

test('our own errors stay as they are', () => {
  for (const error of [new TransientError('A', 'checksum'), new TerminalError('B', 'Permission denied')])
    expect([knownFailure(error, PATH), warehouseFailure(error, PATH)]).toEqual([error, error]);
});

test.each<[text: string, invalidated: boolean, wrong: boolean]>([
  ['FATAL Error: failed to write', true, false],
  ['Invalid Input Error: the database has been invalidated because of a fatal error', true, false],
  ['IO Error: no FATAL Error', false, false],
  ['Parser Error: syntax error', false, true],
  ['Binder Error: no column', false, true],
  ['Catalog Error: no table', false, true],
  ['Conversion Error: Parser Error', false, false],
])('after "%s" the database is lost: %s, and the statement is wrong: %s', (text, invalidated, wrong) => {
  const error = new Error(text);
  expect([isInvalidated(error), isWrongStatement(error)]).toEqual([invalidated, wrong]);
});
