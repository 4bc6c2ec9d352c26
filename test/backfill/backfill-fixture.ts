import { cpSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { BackfillRequest, UpstreamAddress } from '../../src/backfill/backfill-request.ts';
import type { BackfillOutcome } from '../../src/backfill/run-backfill.ts';
import { createRestSource } from '../../src/client/rest-source.ts';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { encodeMessages } from '../../src/contract/encode-messages.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Clock } from '../../src/lib/time.ts';
import { assignmentOf } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import type { OpenShard } from '../../src/pipeline/open-shard.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { pollSlice } from '../../src/pipeline/poll-slice.ts';
import { openLmdbLog } from '../../src/stream/log/lmdb-log.ts';
import { startStreamService } from '../support/stream-service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS, type TestClock } from '../support/test-clock.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';

export const HOUR = 3_600_000;
export const DEVICES = ['7c9e6679-7425-40de-944b-e07fc1f90ae7', '1f0c8d0e-3b52-4f0c-9d7e-2b9a4a1c6d11'];
const total = {
  table: 'solar',
  field: 'total_wh',
  method: 'total_energy' as const,
  unit: 'Wh',
  maxPower: '100 kW',
};

/** A real upstream on a log on disk. The test moves its clock. */
export async function startUpstream(
  clock: TestClock,
  { path = tempDir(), retentionMs = HOUR }: { path?: string; retentionMs?: number } = {},
) {
  const log = openLmdbLog({ clock, retentionMs, cacheBytesMax: 1e6, logger: silentLogger, path });
  const service = await startStreamService({ clock, retentionMs, openLog: () => log });
  // A token ends after an hour of the test's clock.
  const address = async (): Promise<UpstreamAddress> => ({
    url: service.baseUrl,
    workgroup: 'acme',
    table: '-',
    token: await service.token(),
  });
  let messages = 0;
  return {
    address,
    log,
    path,
    /** Lets devices send every ten seconds for this time. */
    async speakFor(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 10_000) {
        await clock.advance(10_000);
        const wh = 1_000 + Math.round((clock.now() - TEST_START_MS) / 1_000);
        const items = DEVICES.map((device, index) => ({
          device,
          source: 'roof',
          event_time: clock.now(),
          msg_id: messages++,
          data: { total_wh: wh * (index + 1), other_wh: wh * 2 },
        }));
        await log.append(encodeMessages(items, 'solar'));
      }
    },
    /** A copy of the log as it is now, as a backup has it. It keeps everything. */
    async copy() {
      const copyPath = tempDir();
      await log.bounds();
      cpSync(path, copyPath, { recursive: true });
      return startUpstream(clock, { path: copyPath, retentionMs: 1_000 * HOUR });
    },
  };
}
export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

/** A worker of an upstream, in this process: its warehouse and the operations on it. */
export async function openWorker(
  clock: Clock,
  {
    dataDir = tempDir(),
    streams = [total],
    keepMessages = '2d',
    table,
    limits,
  }: {
    dataDir?: string;
    streams?: Array<typeof total>;
    keepMessages?: string;
    /** The table of the upstream, if it has only one. */
    table?: string;
    limits?: ConfigInput['limits'];
  } = {},
) {
  const input: ConfigInput = {
    limits,
    pipeline: { keepMessages },
    workgroups: [
      {
        id: 'acme',
        energyStreams: streams,
        ...(table !== undefined && { upstream: { url: upstreamOfNobody.url, table } }),
      },
    ],
  };
  const config = configSchema.parse(input);
  const open = await openAssignment(
    assignmentOf(
      { ...config, pipeline: { ...config.pipeline, currentEvery: 0 }, dataDir },
      config.workgroups[0]!,
    ),
    clock,
    silentLogger,
  );
  onTestFinished(() => closeAssignment(open));
  return { config: { ...config, dataDir }, ...workerOf(open, dataDir) };
}
export type Worker = Awaited<ReturnType<typeof openWorker>>;

function workerOf(open: OpenShard, dataDir: string) {
  const run = (_workgroupId: string, name: keyof typeof operations, args: unknown) =>
    (operations[name] as (open: OpenShard, args: unknown) => Promise<never>)(open, args);
  const rollUp = async () => {
    while ((await operations.rollUp(open, undefined)).more);
    await operations.publish(open, undefined);
  };
  return {
    open,
    dataDir,
    jobs: open.backfills,
    rollUp,
    close: () => closeAssignment(open),
    /** Reads the new messages, as the worker does. */
    async poll({ url, workgroup, table, token }: UpstreamAddress): Promise<void> {
      const source = createRestSource({ url, workgroup, table, ...(token !== undefined && { token }) });
      try {
        await pollSlice({
          pipeline: { run: run as never },
          source,
          workgroupId: 'acme',
          signal: new AbortController().signal,
          waitSeconds: 0,
        });
      } finally {
        await source.close();
      }
    },
    async backfill(
      request: BackfillRequest,
      upstream?: UpstreamAddress,
      whileRunning: () => Promise<void> = async () => undefined,
    ): Promise<BackfillOutcome> {
      open.backfills.start(request, upstream);
      for (;;) {
        const state = await open.backfills.state();
        if (state.kind === 'ended') return state.outcome;
        if (state.kind === 'idle') throw new TransientError('Idle', 'nothing was started');
        await whileRunning();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    /** How often each message is there. */
    async messages(): Promise<{ all: number; distinct: number }> {
      const [row] = await rowsOf(
        open.shard,
        'SELECT count(*)::INTEGER AS "all", count(DISTINCT (device, event_time_ms, message_id))::INTEGER AS "distinct" FROM message',
      );
      return row as { all: number; distinct: number };
    },
    energy: () =>
      rowsOf(
        open.shard,
        `SELECT device::VARCHAR AS device, field, interval_start_ms::DOUBLE AS start, energy_wh
         FROM interval_energy JOIN series USING (series_id) JOIN energy_stream USING (stream_id),
           LATERAL (SELECT settings->>'field' AS field)
         WHERE energy_wh IS NOT NULL ORDER BY ALL`,
      ),
    rows: (sql: string) => rowsOf(open.shard, sql),
  };
}

export const upstreamOfNobody: UpstreamAddress = { url: 'http://127.0.0.1:9', workgroup: 'acme', table: '-' };

export { createTestClock, TEST_START_MS, total };
