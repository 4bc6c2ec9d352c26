import { assignmentOf } from '../../src/pipeline/assignment.ts';
// Backfills a warehouse, slowly, to be killed on the way.

import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openAssignment } from '../../src/pipeline/open-assignment.ts';

const [dataDir, nowMs, address] = process.argv.slice(2) as [string, string, string];
const config = configSchema.parse({ workgroups: [{ id: 'acme' }] });
const clock = { now: () => Number(nowMs) };
const { backfills } = await openAssignment(
  assignmentOf({ ...config, dataDir }, config.workgroups[0]!),
  clock,
  silentLogger,
);
backfills.start(
  { source: 'stream', fromMs: Date.UTC(2026, 10, 20, 12), messagesPerSecond: 100 },
  JSON.parse(address),
);
for (;;) {
  const state = await backfills.state();
  if (state.kind !== 'running') break;
  process.send?.(state.progress.messagesLanded);
  await new Promise((resolve) => setTimeout(resolve, 5));
}
process.exit(0);
