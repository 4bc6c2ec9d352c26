import { onTestFinished } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { type Fixture, openFixture } from './publish-fixture.ts';

/** A warehouse and a lake of this test alone. They are closed and removed when it has finished. */
export async function openOwnFixture(
  options: { startMs?: number; folders?: readonly string[] } = {},
): Promise<Fixture> {
  const opened = await openFixture(tempDir(), createTestClock(options.startMs), options.folders);
  onTestFinished(() => opened.shard.close());
  return opened;
}
