import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { type FactSource, heldBySomebody, readKnownImports } from '../../src/operate/known-imports.ts';
import type { UnfinishedImport } from '../../src/warehouse/shard-status.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const landing = { path: '/data/a.csv', state: 'landing', rowsRead: 1, updatedAtMs: 0 } as const;
const other = { ...landing, path: '/data/b.csv' };
const givenUp = { ...landing, state: 'dropped' } as const;

/** The imports that are known from these answers of the process that has the warehouse open. */
function known(answers: Record<string, unknown>, written: UnfinishedImport[] = []) {
  const config = configSchema.parse({ dataDir: tempDir(), workgroups: [{ id: 'home' }] });
  const control = {
    ask: async (_workgroupId: string, operation: string) => answers[operation],
  } as unknown as FactSource['control'];
  return readKnownImports({ config, control, clock: createTestClock() }, config.workgroups[0]!, written);
}
const answer = (value: unknown) => ({ kind: 'answer', answer: value });
const lastHour = { messages: 5, quarantined: 1 };

test.each<[what: string, importState: unknown, isUnderWay: boolean[]]>([
  ['the process works on', answer({ kind: 'running', path: '/data/a.csv' }), [true, false, false]],
  ['the process does not work on', answer({ kind: 'idle' }), [false, false, false]],
  ['the process does not tell about', { kind: 'failed', error: new Error('busy') }, [false, false, false]],
])('an import that %s', async (_, importState, isUnderWay) => {
  const found = await known({
    status: answer({ imports: [landing, other, givenUp], lastHour }),
    importState,
  });
  expect(found.lastHour).toEqual(lastHour);
  expect(found.imports.map((one) => one.isUnderWay)).toEqual(isUnderWay);
});

test('without imports the process is not asked which one runs', async () => {
  expect(await known({ status: answer({ imports: [], lastHour }) })).toEqual({ imports: [], lastHour });
});

test('while the process does not answer, the last status of the worker counts', async () => {
  const failed = { kind: 'failed', error: new TransientError('NoAnswer', 'busy') };
  const written = [landing, givenUp];
  const { imports, ...rest } = await known({ status: failed }, written);
  expect(imports).toEqual(heldBySomebody(written));
  expect(imports.map(({ isUnderWay }) => isUnderWay)).toEqual([true, false]);
  expect(rest).toEqual({});
});

test('a workgroup that has no warehouse yet has no imports', async () => {
  expect(await known({ status: { kind: 'not-running' } }, [landing])).toEqual({ imports: [] });
});
