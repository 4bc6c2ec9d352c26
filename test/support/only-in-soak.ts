/**
 * Test files that run only in `npm run test:soak`. Each starts several processes and waits for leases and
 * time-outs of tens of seconds, or makes a comparison that a cheaper test makes with less data.
 * docs/testing.md names the cheaper test that holds each rule in `npm test`.
 */
export const onlyInSoak: readonly string[] = [
  'test/alerts/every-condition.test.ts',
  'test/alerts/handover.test.ts',
  'test/alerts/up.test.ts',
  'test/backup/bucket.test.ts',
  'test/backup/burnt-machine.test.ts',
  'test/backup/exports-in-bucket.test.ts',
  'test/backup/newest-in-bucket.test.ts',
  'test/bench/truth-recordings.test.ts',
  'test/cli/npm-script.test.ts',
  'test/flow/backfill.test.ts',
  'test/flow/bucket-cost.test.ts',
  'test/flow/bucket-damaged.test.ts',
  'test/flow/bucket-failures.test.ts',
  'test/flow/bucket-faults.test.ts',
  'test/flow/bucket-fill.test.ts',
  'test/flow/bucket-handover.test.ts',
  'test/flow/bucket-lossy.test.ts',
  'test/flow/bucket-outage.test.ts',
  'test/flow/bucket-restored.test.ts',
  'test/flow/bucket-takeover.test.ts',
  'test/flow/check-real.test.ts',
  'test/flow/clock-set.test.ts',
  'test/flow/corrections.test.ts',
  'test/flow/hibernate-machines.test.ts',
  'test/flow/hibernate.test.ts',
  'test/flow/import-interrupted.test.ts',
  'test/flow/late-successor.test.ts',
  'test/flow/older-data.test.ts',
  'test/flow/flow-poison.test.ts',
  'test/flow/presence-and-audit.test.ts',
  'test/flow/redis-at-start.test.ts',
  'test/flow/simulated-day.test.ts',
  'test/flow/socket.test.ts',
  'test/flow/status-broken.test.ts',
  'test/flow/uploads.test.ts',
  'test/import/workbook.test.ts',
  'test/jobs/worker-pglite.test.ts',
  'test/jobs/worker-redis-away.test.ts',
  'test/pipeline/collect-in-background.test.ts',
  'test/release/compose.test.ts',
  'test/release/read-only.test.ts',
  'test/release/tarball.test.ts',
  'test/report/absurd.test.ts',
  'test/report/balance-shapes.test.ts',
  'test/report/cookbook-agrees.test.ts',
  'test/rollup/appended.test.ts',
  'test/rollup/many-days.test.ts',
  'test/rollup/nights.test.ts',
  'test/service/commands-elsewhere.test.ts',
  'test/service/presence-machines.test.ts',
  'test/service/reports-elsewhere.test.ts',
  'test/service/reports-without-bucket.test.ts',
  'test/service/several-machines.test.ts',
  'test/service/two-workers.test.ts',
  'test/service/worker-elsewhere.test.ts',
  'test/stream/log/redis-log-processes.test.ts',
  'test/stream/log/redis-log-takeover.test.ts',
  'test/stream/rest/routes-redis.test.ts',
];

/**
 * Says which files of a command run only in the soak, because Vitest leaves them out without saying so.
 * @param args of Vitest. One with a slash or `.test` names files, unless it is an option
 * @returns the words about the files that are left out; undefined if there are none
 * @throws Error with the same words if the command names no other files
 */
export function noteSoakFiles(args: readonly string[]): string | undefined {
  const named = args.filter((arg) => /^(?!-).*(?:\/|\.test)/.test(arg));
  const inSoak = (arg: string) =>
    onlyInSoak.find(
      (path) => arg.endsWith('.test.ts') && (arg.endsWith(`/${path}`) || `/${path}`.endsWith(`/${arg}`)),
    );
  const paths = named.map(inSoak).filter((path) => path !== undefined);
  if (paths.length === 0) return undefined;
  const note = `only in the soak: ${paths.join(', ')}; run: WATTLINE_SOAK=1 vitest run ${paths.join(' ')}`;
  if (paths.length === named.length) throw new Error(note);
  return note;
}
