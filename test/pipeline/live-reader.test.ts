import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { land } from '../../src/pipeline/live-reader.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { tempDir } from '../support/temp-dir.ts';
import { answerOf, assignmentOf } from './answers.ts';

test('an answer that cannot land is read again from the checkpoint, and not skipped', async () => {
  const reader = await openAssignment(assignmentOf(tempDir()), systemClock, silentLogger);
  onTestFinished(() => closeAssignment(reader));
  const landFrom = (first: number, end: number) => {
    const { ask } = reader.position;
    return land(reader, { ask, answer: answerOf(first, end) });
  };
  expect(await landFrom(0, 3)).toMatchObject({ kind: 'delivered', messages: 3 });
  const before = reader.position;
  // The table is in the way of all messages, until it has its name again.
  await reader.shard.transaction((connection) => connection.run('ALTER TABLE message RENAME TO away'));
  await expect(landFrom(3, 5)).rejects.toThrow();
  expect(reader.position).toEqual(before);
  expect(reader.stuck).toMatchObject({ failures: 1 });
});
