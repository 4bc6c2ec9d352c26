import fc from 'fast-check';
import type { FieldValue } from '../../src/contract/messages.ts';
import type { UtcMs } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { rounds } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, type EnergySite, landReadings, rollUpSite } from './rollup-fixture.ts';

/** The readings of one device, in the order of their times. The name of the table says which rules apply. */
export interface RandomStream {
  table: string;
  readings: RandomReading[];
}

export interface RandomReading {
  atMs: UtcMs;
  /** The revision, if there are several readings of this instant. */
  revision?: number;
  /**
   * A reading that does not count: a glitch, a spike, a value that is not a number, or one that was revised.
   */
  isFault?: boolean;
  /** The part in which it comes. It comes again in `againPart`. */
  part: number;
  againPart?: number;
  /** Its delay, if readings come in the order of their times otherwise. */
  lateMs: number;
  data: Record<string, FieldValue>;
}

/** The device of a stream, by the index of the stream in the test. */
export function deviceOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

export type Message = CaseReading & { part: number; againPart: number | undefined; comesAtMs: UtcMs };

/**
 * Every reading of every stream as a message, at the place in the log that the order of its device gives it.
 */
export function messagesOf(streams: readonly RandomStream[]): Message[] {
  return streams.flatMap(({ table, readings }, stream) =>
    readings.map(({ atMs, revision, part, againPart, lateMs, data }, place) => ({
      part,
      againPart,
      comesAtMs: atMs + lateMs,
      event_time: new Date(atMs).toISOString(),
      table,
      device: deviceOf(stream),
      offset: BigInt(stream * 10_000 + place),
      ...(revision !== undefined && { msg_id: revision }),
      data,
    })),
  );
}

/**
 * A warehouse into which parts have come one after the other, rolled up after each. In the soak it has two
 * threads, so that rows come in any order.
 */
export async function rolledUp(
  site: EnergySite,
  parts: readonly (readonly CaseReading[])[],
  nowsMs: readonly UtcMs[] = [],
  threads = rounds(1, 2),
): Promise<Shard> {
  const shard = await openTestShard({ threads });
  await shard.withAllThreads(async () => {
    for (const [index, part] of parts.entries()) {
      if (part.length > 0) await landReadings(shard, part);
      await rollUpSite(shard, site, nowsMs[index]);
    }
  });
  return shard;
}

/** What must be the same, as rows that begin with the device. */
export const ROWS: Record<string, string> = {
  day: `SELECT device, day, source, energy_wh, method, flags, coverage FROM daily_energy`,
  interval: `SELECT device, identity, source, make_timestamp(interval_start_ms * 1000) AS start, energy_wh, covered_ms, flags
    FROM interval_energy JOIN series USING (series_id) JOIN energy_stream USING (stream_id) WHERE covered_ms > 0 OR energy_wh <> 0`,
  reading: `SELECT device, identity, source, make_timestamp(event_time_ms * 1000) AS at, value
    FROM reading JOIN series USING (series_id) JOIN energy_stream USING (stream_id)`,
  rejected: `SELECT device, source, field, reason, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM rejected_reading GROUP BY ALL`,
};

/** What must not change by itself. */
export const VERSIONS = {
  ...ROWS,
  version: 'SELECT device, day, source, version, status, computed_at_ms FROM daily_energy',
  history: 'SELECT * FROM daily_energy_history',
} as const;

/**
 * A number for each device and kind of row that is the same where the rows are the same, in whatever order
 * they lie.
 */
export async function digestsOf(shard: Shard, kinds: Record<string, string>): Promise<Map<string, unknown>> {
  const each = Object.entries(kinds).map(
    ([kind, sql]) =>
      `SELECT '${kind} ' || device::VARCHAR AS key, bit_xor(hash(one))::VARCHAR || count(*)::VARCHAR AS digest FROM (${sql}) AS one GROUP BY device`,
  );
  const rows = await rowsOf(shard, each.join(' UNION ALL '));
  return new Map(rows.map(({ key, digest }) => [key as string, digest]));
}

async function linesOf(shard: Shard, rowsSql: string, device: string): Promise<string[]> {
  const rows = await rowsOf(
    shard,
    `SELECT one::VARCHAR AS line FROM (${rowsSql}) AS one WHERE device = '${device}' ORDER BY line`,
  );
  return rows.map(({ line }) => line as string);
}

/** How the rows of each stream differ between two warehouses; empty where they are the same. */
export async function differences(
  streams: readonly RandomStream[],
  wanted: Shard,
  found: Shard,
  kinds = ROWS,
): Promise<string[]> {
  const [one, other] = [await digestsOf(wanted, kinds), await digestsOf(found, kinds)];
  const problems: string[] = [];
  for (const index of streams.keys()) {
    const device = deviceOf(index);
    let problem = '';
    for (const [kind, rowsSql] of Object.entries(kinds)) {
      if (one.get(`${kind} ${device}`) === other.get(`${kind} ${device}`)) continue;
      const [want, have] = [await linesOf(wanted, rowsSql, device), await linesOf(found, rowsSql, device)];
      const missing = want.filter((line) => !have.includes(line)).map((line) => `- ${line}`);
      const surplus = have.filter((line) => !want.includes(line)).map((line) => `+ ${line}`);
      problem += `${kind}s:\n${[...missing.slice(0, 6), ...surplus.slice(0, 6)].join('\n')}\n`;
    }
    problems.push(problem);
  }
  return problems;
}

export async function closeAll(...shards: readonly Shard[]): Promise<void> {
  await Promise.all(shards.map((shard) => shard.close()));
}

/** What several checks say of each stream. */
export function joined(checks: readonly (readonly string[])[]): string[] {
  return checks[0]!.map((_, index) => checks.map((problems) => problems[index]!).join(''));
}

/**
 * Says of each stream what is wrong with it; nothing where it is as it has to be. All of them are rolled up
 * at once.
 */
export type Check<Stream extends RandomStream = RandomStream> = (
  streams: readonly Stream[],
) => Promise<string[]>;

/** Keeps the context of fast-check, which it needs to make a value smaller. */
class Kept<Item> extends fc.Arbitrary<fc.Value<Item>> {
  readonly #inner: fc.Arbitrary<Item>;
  constructor(inner: fc.Arbitrary<Item>) {
    super();
    this.#inner = inner;
  }
  generate(random: fc.Random, bias: number | undefined): fc.Value<fc.Value<Item>> {
    return new fc.Value(this.#inner.generate(random, bias), undefined);
  }
  canShrinkWithoutContext(_value: unknown): _value is fc.Value<Item> {
    return false;
  }
  shrink(): fc.Stream<fc.Value<fc.Value<Item>>> {
    return fc.Stream.nil();
  }
}

const SEED = 20_261_121;
/** The number of smaller streams that are tried at once, and the number of attempts. */
const SMALLER_MAX = 80;
const ROUNDS_MAX = 8;

/**
 * Checks many streams at once, the same each time. Where some fail, makes one of them smaller for as long as
 * it fails, many ways of doing so being checked at once.
 * @throws Error with the smallest stream found, to be worked out by hand
 */
export async function expectAll<Stream extends RandomStream>(
  site: EnergySite,
  arbitrary: fc.Arbitrary<Stream>,
  check: Check<Stream>,
  count = rounds(50, 1_000),
): Promise<void> {
  const failing = await failingOf(fc.sample(new Kept(arbitrary), { numRuns: count, seed: SEED }), check);
  if (failing.length === 0) return;
  let smallest = failing.reduce((best, one) => (lengthOf(one) < lengthOf(best) ? one : best));
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const smaller = arbitrary.shrink(smallest.sample.value, smallest.sample.context);
    const stillFailing = await failingOf([...smaller.take(SMALLER_MAX)], check);
    if (stillFailing.length === 0) break;
    smallest = stillFailing[0]!;
  }
  const { table, readings } = smallest.sample.value;
  const settings = site.streams.filter((one) => one.table === table);
  const lines = readings.map(
    ({ atMs, part, againPart, lateMs, revision, data }) =>
      `${new Date(atMs).toISOString()} ${JSON.stringify(data)}${revision === undefined ? '' : ` revision ${revision}`} part ${part}${againPart === undefined ? '' : `, again ${againPart}`} late ${lateMs}`,
  );
  throw new Error(
    `${failing.length} of ${count} streams fail, the smallest in ${site.timezone}:\n${JSON.stringify(settings)}\n${lines.join('\n')}\n${smallest.problem}`,
  );
}

interface Failing<Stream> {
  sample: fc.Value<Stream>;
  problem: string;
}

function lengthOf({ sample }: Failing<RandomStream>): number {
  return sample.value.readings.length;
}

async function failingOf<Stream extends RandomStream>(
  samples: ReadonlyArray<fc.Value<Stream>>,
  check: Check<Stream>,
): Promise<Array<Failing<Stream>>> {
  if (samples.length === 0) return [];
  const problems = await check(samples.map(({ value }) => value));
  return samples.flatMap((sample, index) => {
    const problem = problems[index];
    return problem ? [{ sample, problem }] : [];
  });
}
