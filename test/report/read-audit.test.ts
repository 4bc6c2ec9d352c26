import { expect, test } from 'vitest';
import type { Generation, LakeReader } from '../../src/report/lake/lake-reader.ts';
import { readAuditEntries } from '../../src/report/read-audit.ts';

const file = (period: string, folder = 'table=audit_logs/2026') => ({ period, folder });

/** The periods of the files that are read together, if each file has an entry of some days. */
async function readsOf(files: Array<ReturnType<typeof file>>, limit: number) {
  const generation = { files: () => files, path: () => '' } as unknown as Generation;
  const reads: string[][] = [];
  const lake = {
    run: async (read: { files: typeof files }) => {
      reads.push(read.files.map(({ period }) => period));
      return read.files.map(() => ({ event_ms: 0, store_ms: 0, stream_offset: '1', other: null }));
    },
  } as unknown as LakeReader;
  const entries = await readAuditEntries(lake, generation, { limit });
  return { reads, entries };
}
const days = Array.from({ length: 30 }, (_, index) => `2026-11-${String(30 - index).padStart(2, '0')}`);

test('the newest files are read first, 24 at a time, until there are enough entries', async () => {
  const files = days.toReversed().map((day) => file(day));
  expect((await readsOf(files, 24)).reads).toEqual([days.slice(0, 24)]);
  expect((await readsOf(files, 25)).reads).toEqual([days.slice(0, 24), days.slice(24)]);
  expect((await readsOf(files, 1_000)).entries).toHaveLength(30);
});

test('files of one period are read together, and files of other tables are not read', async () => {
  const [newest, ...others] = days;
  const many = Array.from({ length: 26 }, () => file(newest!));
  const files = [...others.map((day) => file(day)), ...many, file(newest!, 'table=solar/2026')];
  const { reads } = await readsOf(files, 27);
  expect(reads).toEqual([Array(26).fill(newest), others.slice(0, 24)]);
});

test('nothing is read before the first publication', async () => {
  expect(await readAuditEntries({} as LakeReader, undefined, { limit: 5 })).toEqual([]);
});
