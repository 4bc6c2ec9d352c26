import { expect, test } from 'vitest';
import { quickPipeline, statusOf } from '../support/bucket-services.ts';
import { checkCommits } from '../support/check-commits.ts';
import { FAULTS, type Fault, startFaultyService } from '../support/faulty-service.ts';
import {
  CORRECTIONS_MAX,
  knownReports,
  knownWorkgroups,
  postCorrection,
  putMeterData,
  sendReadings,
  UPLOADS_MAX,
  untilAcknowledged,
  watchReports,
} from '../support/known-energy.ts';
import { rounds } from '../support/rounds.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const FAULTS_EACH = Number(process.env.WATTLINE_TEST_FAULTS ?? rounds(0, 50));
const RUNS = process.env.WATTLINE_TEST_FAULTS ? 1 : rounds(1, 10);
/** The share of the requests to the bucket that fail all the time, in every second run. */
const LOSS_SHARE = 0.05;
const BATCH = 20;
const COUNT = (FAULTS_EACH + 1) * BATCH;
/** Readings of the source that is corrected. */
const SPARE = { first: 0, end: 288, count: 288 };
const COUNT_MESSAGES = `SELECT (count(*) FILTER ("table" <> 'audit_logs'))::INTEGER AS readings,
  (count(*) FILTER ("table" = 'audit_logs'))::INTEGER AS entries, count(DISTINCT stream_offset)::INTEGER AS offsets FROM messages`;
/** The seed is printed. It gives the same faults in the same order, not the same moments. */
const SEED = Number(process.env.WATTLINE_TEST_SEED ?? Date.now() % 1_000_000);
const runs = Array.from({ length: RUNS }, (_, index) => ({
  seed: SEED + index,
  lossShare: Number(process.env.WATTLINE_TEST_LOSS ?? (index % 2) * LOSS_SHARE),
}));

test.skipIf(s3Missing).each(runs)(
  `${FAULTS_EACH} faults lose nothing and double nothing, and leave the reports of a run without faults ($seed, $lossShare)`,
  { timeout: 240_000 + FAULTS_EACH * 60_000 },
  async ({ seed, lossShare }) => {
    const random = seededRandom(seed);
    const order: Fault[] = [];
    const note = (facts: object) => process.stderr.write(`bucket faults: ${JSON.stringify(facts)}\n`);
    note({ seed, lossShare });
    const service = await startFaultyService(seed, lossShare);
    const { stream, reports, head, untilStored } = service;
    /**
     * Messages that were acknowledged, and messages of batches without an answer, which can be stored or not.
     */
    let sent = 0;
    let unclear = 0;
    let uploads = 0;
    let corrections = 0;
    const batches: Array<{ first: number; end: number }> = [];

    async function send(first: number): Promise<void> {
      const end = first + BATCH;
      await untilAcknowledged(`messages ${first}`, async () => {
        const answer = await sendReadings(stream, 'pv', { first, end, count: COUNT });
        if (answer.status !== 200) unclear += BATCH;
        return answer;
      });
      sent += BATCH;
      batches.push({ first, end });
    }
    async function store(): Promise<void> {
      if (uploads < UPLOADS_MAX) {
        await untilAcknowledged(`upload ${uploads}`, () => putMeterData(reports, uploads));
        uploads++;
      }
      if (corrections < CORRECTIONS_MAX) {
        await untilAcknowledged(`correction ${corrections}`, () => postCorrection(reports, corrections));
        corrections++;
      }
    }

    expect(await sendReadings(stream, 'spare', SPARE)).toMatchObject({ status: 200 });
    sent += SPARE.end;
    await send(0);
    await untilStored(sent);
    const stopWatching = watchReports(reports);

    for (let round = 0; round < FAULTS_EACH; round++) {
      // Each kind first comes once, in a random order.
      const fault = nextFault(order, round, random);
      const startMs = performance.now();
      // What is acknowledged just before a disk is lost is only in the bucket. Otherwise it is sent during
      // the fault.
      const isBefore = fault === 'disk-lost';
      const storing = round % 2 === 0 || isBefore ? store() : Promise.resolve();
      if (isBefore) await storing;
      await Promise.all([service.make(fault), send((round + 1) * BATCH), storing]);
      if (random() < 0.5)
        await until(
          'the bucket has all messages',
          async () => ((await head())?.totals.messages ?? 0) >= sent,
          180_000,
        );
      note({ round, fault, durationMs: Math.round(performance.now() - startMs) });
    }

    const plain = await createServiceProcess({ pipeline: quickPipeline, workgroups: knownWorkgroups });
    await plain.start();
    expect(await sendReadings(plain, 'spare', SPARE)).toMatchObject({ status: 200 });
    for (const batch of batches)
      expect(await sendReadings(plain, 'pv', { ...batch, count: COUNT })).toMatchObject({ status: 200 });
    await until('all has landed', () => statusOf(plain)?.storedMessages === sent);
    for (let index = 0; index < uploads; index++)
      await untilAcknowledged('an upload', () => putMeterData(plain, index));
    for (let index = 0; index < corrections; index++)
      await untilAcknowledged('a correction', () => postCorrection(plain, index));

    await until('the bucket has all messages', async () => (await head())!.totals.messages >= sent, 180_000);
    let expected: unknown;
    let got: unknown;
    await until(
      'the reports are the same',
      async () => {
        [expected, got] = [await knownReports(plain), await knownReports(reports)];
        return JSON.stringify(got) === JSON.stringify(expected);
      },
      120_000,
    ).catch(() => undefined);
    expect(got).toEqual(expected);
    const owner = await service.owner();
    expect(statusOf(owner)!.gaps).toBe(0);
    // Uploads and corrections leave entries of the audit log. They are messages of the stream, too, and come
    // later.
    let counted = { readings: 0, entries: 0, offsets: 0 };
    await until('the views of the owner have all messages', async () => {
      const rows = await queryLake(owner.config, 'home', COUNT_MESSAGES);
      if (rows) counted = rows[0] as typeof counted;
      return counted.readings >= sent;
    });
    expect(counted.readings).toBeLessThanOrEqual(sent + unclear);
    expect(counted.offsets).toBe(counted.readings + counted.entries);
    const watched = await stopWatching();
    expect(watched.wrong).toEqual([]);
    expect(watched.answers).toBeGreaterThan(FAULTS_EACH);
    const checked = await checkCommits(service.store);
    note({ sent, unclear, ...counted, uploads, corrections, answers: watched.answers, ...checked });
    for (const worker of service.workers) await worker.stop();
  },
);

/** All kinds of faults in a random order, again and again. */
function nextFault(order: Fault[], round: number, random: () => number): Fault {
  while (order.length <= round) {
    const left = [...FAULTS];
    while (left.length > 0) order.push(...left.splice(Math.floor(random() * left.length), 1));
  }
  return order[round]!;
}
