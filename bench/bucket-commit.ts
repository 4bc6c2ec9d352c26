import { newestSequence } from '../src/backup/newest-sequence.ts';
import { analyticsKey, commitKey } from '../src/publish/lake-layout.ts';
import { readReplicaCommit } from '../src/replica/replica-commit.ts';
import type { ObjectStore } from '../src/storage/object-store.ts';
import { createS3Store, type S3Settings } from '../src/storage/s3-store.ts';
import { workgroupStore } from '../src/storage/workgroup-store.ts';
import { type BucketRequest, openCountingProxy } from '../test/support/counting-proxy.ts';
import { until } from '../test/support/until.ts';
import type { ServiceProcess } from '../test/support/up-process.ts';
import { BUCKET_WORKGROUP, startBucketMachines } from './bucket-machines.ts';
import type { Ratio } from './decode.ts';
import { loadOfMachine } from './process-costs.ts';
import { quantile } from './statistics.ts';

const COMMITS = Number(process.env.WATTLINE_BENCH_COMMITS ?? 50);
const COMMIT_EVERY = '2s';
const DEVICES = 5;
const TABLES = ['solar', 'meter', 'battery'];
const SEND_EVERY_MS = 200;
/** A commit a minute, and keys that are kept for a week. */
const WEEK_COMMITS = 7 * 1_440;
const LIMITS = { puts: 6, lists: 3, elsewhereMs: 2_000 };
const WAIT_MS = 600_000;

/**
 * Measures the PUTs of a commit to the bucket, the LISTs of a reader that knows no commit, and the time until
 * a report on another machine has a commit. With real processes, an S3 server and Redis.
 */
export async function benchBucketCommit(print: (line: string) => void): Promise<Ratio[]> {
  let counted: Awaited<ReturnType<typeof openCountingProxy>> | undefined;
  const machines = await startBucketMachines(async (endpoint) => {
    counted = await openCountingProxy(endpoint);
    return counted.endpoint;
  }, COMMIT_EVERY);
  try {
    const owner = await machines.add('up');
    const elsewhere = await machines.add('report');
    const { s3 } = machines;
    const store = workgroupStore({ s3 }, BUCKET_WORKGROUP)!;
    const { requests } = counted!;
    const delaysMs = await measureElsewhere({ owner, elsewhere, store, requests });
    const puts = putsOf(requests);
    const [p50, p99] = [0.5, 0.99].map((share) => quantile(delaysMs, share));
    print(
      `a commit: ${quantile(puts, 0.5)} PUTs in the median, ${Math.max(...puts)} at most, of ${puts.length} commits`,
    );
    print(
      `report elsewhere after a commit: p50 ${p50!.toFixed(0)} ms, p99 ${p99!.toFixed(0)} ms, of ${delaysMs.length} commits`,
    );
    const lists = await measureColdReader(s3);
    print(
      `newest of ${WEEK_COMMITS} commits: ${lists.withViews} LISTs, ${lists.withoutViews} without views, ${Math.ceil((WEEK_COMMITS + 1) / 1_000)} from the oldest on`,
    );
    print(`load of the machine: ${loadOfMachine()}`);
    return [
      { name: 'PUTs of a commit, most', ratio: LIMITS.puts / Math.max(...puts), ratioMin: 1 },
      { name: 'LISTs of a reader without knowledge', ratio: LIMITS.lists / lists.withViews, ratioMin: 1 },
      { name: 'report elsewhere after a commit, p99', ratio: LIMITS.elsewhereMs / p99!, ratioMin: 1 },
    ];
  } finally {
    await machines.end();
    counted?.close();
  }
}

interface Site {
  owner: ServiceProcess;
  elsewhere: ServiceProcess;
  store: ObjectStore;
  requests: readonly BucketRequest[];
}

const isCommit = ({ what, key }: BucketRequest) =>
  what === 'PUT' && key.startsWith(`${BUCKET_WORKGROUP}/commits/`);

/**
 * From the PUT of a commit until a report elsewhere has its energy (ms), for commits that have changed the
 * energy.
 */
async function measureElsewhere({ owner, elsewhere, store, requests }: Site): Promise<number[]> {
  const sending = new AbortController();
  const sent = sendUntil(owner, sending.signal);
  const delaysMs: number[] = [];
  let [at, totalWh] = [0, 0];
  try {
    while (delaysMs.length < COMMITS) {
      await until(
        'there is a commit',
        () => requests.findIndex((one, index) => index >= at && isCommit(one)) >= 0,
        WAIT_MS,
      );
      at = requests.findIndex((one, index) => index >= at && isCommit(one));
      const { key, atMs } = requests[at++]!;
      const sequence = Number(/(\d{12})\.json$/.exec(key)![1]);
      // The proxy notes a request before the store has answered, so the commit can appear a little later.
      let commit = await readReplicaCommit(store, sequence);
      await until('the commit is there', async () => {
        commit ??= await readReplicaCommit(store, sequence);
        return commit !== undefined;
      });
      const { dailyEnergyWh } = commit!.totals;
      if (dailyEnergyWh <= totalWh) continue;
      totalWh = dailyEnergyWh;
      await until(
        'the report elsewhere has the commit',
        async () => (await reportedWh(elsewhere)) >= totalWh,
        WAIT_MS,
      );
      // Reports before the first one compile the statements.
      if (sequence > 3) delaysMs.push(performance.now() - atMs);
      // The delay of each commit is measured from its own request, even if later commits came meanwhile.
    }
  } finally {
    sending.abort();
    await sent;
  }
  return delaysMs;
}

async function sendUntil({ url, token }: ServiceProcess, signal: AbortSignal): Promise<void> {
  for (let number = 1; !signal.aborted; number++) {
    for (const table of TABLES) {
      const messages = Array.from({ length: DEVICES }, (_, index) => ({
        device: `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`,
        source: 'pv',
        event_time: Date.now(),
        data: { [table === 'solar' ? 'total_wh' : 'value']: 2 * number },
      }));
      const answer = await fetch(`${url}/api/v1/tables/${BUCKET_WORKGROUP}/${table}/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(messages),
      });
      if (answer.status !== 200) throw new Error(`ingest answered with ${answer.status}`);
      await answer.arrayBuffer();
    }
    await new Promise((resolve) => setTimeout(resolve, SEND_EVERY_MS));
  }
}

/** The energy of all devices, of yesterday and today. 0 if nothing is published. */
async function reportedWh({ url, token }: ServiceProcess): Promise<number> {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const range = `startDate=${day(Date.now() - 86_400_000)}&endDate=${day(Date.now())}`;
  const answer = await fetch(`${url}/api/v1/orgs/${BUCKET_WORKGROUP}/daily-energy?${range}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (answer.status !== 200) {
    await answer.arrayBuffer();
    return 0;
  }
  const days = (await answer.json()) as Record<string, Record<string, number>>;
  return Object.values(days)
    .flatMap((devices) => Object.values(devices))
    .reduce((sum, energyWh) => sum + energyWh, 0);
}

/** The PUTs of each commit after the views for analysts, which are uploaded once an hour. */
function putsOf(requests: readonly BucketRequest[]): number[] {
  const puts = requests.filter(({ what, key }) => what === 'PUT' && key.startsWith(`${BUCKET_WORKGROUP}/`));
  const counted = puts.slice(puts.findIndex(({ key }) => key.includes('/analytics/')) + 1);
  const ends = counted.flatMap((request, at) => (isCommit(request) ? [at + 1] : []));
  return ends.map((end, at) => end - (ends[at - 1] ?? 0));
}

/** The LISTs that find the newest of a week of commits. */
async function measureColdReader(settings: S3Settings): Promise<{ withViews: number; withoutViews: number }> {
  const { endpoint, requests, close } = await openCountingProxy(settings.endpoint);
  try {
    const place = { ...settings, prefix: `${settings.prefix}week/` };
    const direct = createS3Store(place);
    const sequences = Array.from({ length: WEEK_COMMITS }, (_, index) => index + 1).values();
    const put = async () => {
      for (const sequence of sequences) await direct.put(commitKey(sequence), { bytes: Buffer.from('{}') });
    };
    await Promise.all(Array.from({ length: 16 }, put));
    const reader = createS3Store({ ...place, endpoint });
    const listsOf = async () => {
      const before = requests.length;
      if ((await newestSequence(reader)) !== WEEK_COMMITS) throw new Error('the newest commit was not found');
      return requests.length - before;
    };
    const withoutViews = await listsOf();
    await direct.put(analyticsKey(WEEK_COMMITS - 30), { bytes: Buffer.from('views') });
    return { withViews: await listsOf(), withoutViews };
  } finally {
    close();
  }
}
