import { expect, test } from 'vitest';
import { createStatusBook, readStatuses } from '../../src/pipeline/workgroup-status.ts';
import { tempDir } from '../support/temp-dir.ts';

/** How long after a write the next one follows, with so many workgroups. */
function intervalMs(workgroups: number): number {
  const dataDir = tempDir();
  const clock = { ms: 1_800_000_000_000, now: () => clock.ms };
  const book = createStatusBook({ dataDir, clock });
  const ids = Array.from({ length: workgroups }, (_, number) => `w${number}`);
  for (const id of ids) book.note(id, { gaps: 0 });
  book.flush();
  const wroteAtMs = clock.ms;
  const last = ids.at(-1)!;
  const isWritten = () => readStatuses(dataDir).find(({ workgroupId }) => workgroupId === last)?.gaps !== 0;
  for (let gaps = 1; !isWritten(); gaps++) {
    clock.ms += 250;
    book.note(last, { gaps });
  }
  return clock.ms - wroteAtMs;
}

test('a status is written once a second, and less often where there are many workgroups', () => {
  expect([1, 20, 50, 200, 400].map(intervalMs)).toEqual([1_000, 1_000, 2_500, 10_000, 10_000]);
});
