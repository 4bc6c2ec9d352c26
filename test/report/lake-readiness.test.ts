import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Generation } from '../../src/report/lake/lake-reader.ts';
import { createLakeReadiness } from '../../src/report/lake/lake-readiness.ts';
import { until } from '../support/until.ts';

const ids = Array.from({ length: 1_000 }, (_, index) => `w${index}`);
const published = { commit: { createdAtMs: 0 } } as Generation;

/** A thousand lakes on a disk that answers only when `free` is called. */
function slowDisk() {
  const waiting: Array<() => void> = [];
  let looks = 0;
  let isFree = false;
  return {
    looks: () => looks,
    free() {
      isFree = true;
      for (const answer of waiting.splice(0)) answer();
    },
    async newestGeneration() {
      looks += 1;
      if (!isFree) await new Promise<void>((resolve) => waiting.push(resolve));
      return published;
    },
  };
}

test('a thousand workgroups are ready after all were looked at, and a slow disk delays no answer', {
  tags: ['slow'],
}, async () => {
  const disk = slowDisk();
  const ready = createLakeReadiness(disk);
  // Health checks give up after 3 s. Timers of one process ring in order, however busy the machine is.
  const patiently = () => Promise.race([ready(ids, 7_000), sleep(3_000, 'given up', { ref: false })]);
  expect(await patiently()).toMatchObject({ ok: false, detail: { published: 0, unchecked: 1_000 } });
  expect(await patiently()).toMatchObject({ ok: false });
  // Only some looks wait at the same time, however many checks there are.
  expect(disk.looks()).toBe(16);
  disk.free();
  await until('all were looked at', () => disk.looks() === 1_000);
  expect(await ready(ids, 7_000)).toEqual({
    ok: true,
    detail: {
      workgroups: 1_000,
      published: 1_000,
      unreadable: 0,
      newestGenerationAgeSeconds: 7,
      oldestGenerationAgeSeconds: 7,
    },
  });
  // What was just seen is not looked at again.
  expect(disk.looks()).toBe(1_000);
});

test('a workgroup that is not configured any more is forgotten', async () => {
  const ready = createLakeReadiness({
    newestGeneration: async (workgroupId) => {
      if (workgroupId === 'bad') throw new Error('it is broken');
      return published;
    },
  });
  expect(await ready(['bad', 'good'], 0, { maySeeNames: true })).toMatchObject({
    ok: false,
    detail: { problems: ['the lake of workgroup bad cannot be read: it is broken'] },
  });
  expect(await ready(['good'], 0)).toMatchObject({ ok: true, detail: { published: 1, unreadable: 0 } });
});

test('the ages of the newest and the oldest publication are told, and names only to those who may see them', async () => {
  const at: Record<string, number> = { new: 7_400, old: 1_000 };
  const ready = createLakeReadiness({
    async newestGeneration(workgroupId) {
      if (workgroupId.startsWith('bad')) throw new Error('it cannot be read', { cause: new Error('EIO') });
      const createdAtMs = at[workgroupId];
      return createdAtMs === undefined ? undefined : ({ commit: { createdAtMs } } as Generation);
    },
  });
  expect(await ready(['empty'], 0)).toEqual({
    ok: true,
    detail: {
      ...{ workgroups: 1, published: 0, unreadable: 0 },
      ...{ newestGenerationAgeSeconds: null, oldestGenerationAgeSeconds: null },
    },
  });
  const ids = ['new', 'empty', 'old', ...Array.from({ length: 21 }, (_, index) => `bad${index}`)];
  const detail = {
    ...{ workgroups: 24, published: 2, unreadable: 21 },
    ...{ newestGenerationAgeSeconds: 1, oldestGenerationAgeSeconds: 7 },
  };
  expect(await ready(ids, 8_000)).toEqual({ ok: false, detail });
  const { detail: seen } = await ready(ids, 8_000, { maySeeNames: true });
  expect(seen).toMatchObject(detail);
  expect(seen!.problems).toHaveLength(20);
  expect(seen!.problems).toContain('the lake of workgroup bad0 cannot be read: EIO');
});
