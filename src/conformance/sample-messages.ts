import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { formatCountOf } from '../lib/format-count.ts';
import { MINUTE_MS, systemClock } from '../lib/time.ts';
import { must, NotTestable } from './breach.ts';
import { itemMember } from './cbor-item.ts';
import type { Probe, ReadOptions } from './probe.ts';
import { type Batch, batchOf, describeAnswer, integerOf, type Message } from './server-answer.ts';

/** The sample is sent in several requests, so that it has several store times. */
const REQUESTS = 4;
const MESSAGES_PER_REQUEST = 3;
const APART_MS = 5;
const SAMPLE_MESSAGES = REQUESTS * MESSAGES_PER_REQUEST;
/** The oldest messages may expire during the check, so younger ones are used if there are enough. */
const SAMPLE_AGE_MS = 20 * MINUTE_MS;

/** A telemetry item of the probe's device. */
export function telemetryItem(probe: Probe, number: number, data: Record<string, unknown> = {}): object {
  return {
    device: probe.device,
    source: 'conformance',
    event_time: systemClock.now(),
    msg_id: number,
    data: { number, ...data },
  };
}

/** Sends some messages to the probe's table, once. @throws NotTestable if that is not possible */
export function ownMessages(probe: Probe): Promise<void> {
  return probe.once('own messages', async () => {
    for (let request = 0; request < REQUESTS; request++) {
      // Waits for another millisecond.
      await sleep(APART_MS);
      const first = request * MESSAGES_PER_REQUEST;
      const items = Array.from({ length: MESSAGES_PER_REQUEST }, (_, index) =>
        telemetryItem(probe, first + index),
      );
      const answer = await probe.send(items);
      if (answer.status !== 200) throw new NotTestable(`messages cannot be sent: ${describeAnswer(answer)}`);
    }
  });
}

/** A server may scan only a part of its log in a read that finds nothing. */
const PAGES_MAX = 100;

/**
 * At least three messages that follow each other in the table that rules read.
 * @throws NotTestable if there are fewer
 */
export async function sampleOf(probe: Probe): Promise<Batch> {
  if (probe.target.write) await ownMessages(probe);
  return probe.once('sample', async () => {
    const some = { limit: SAMPLE_MESSAGES, enough: 3 };
    const young = await firstMessages(probe, `timestamp=${systemClock.now() - SAMPLE_AGE_MS}`, some);
    const sample = young.messages.length >= 3 ? young : await firstMessages(probe, '', some);
    if (sample.messages.length < 3)
      throw new NotTestable(
        `the table ${probe.table} holds ${formatCountOf(sample.messages.length, 'message')}, and three are needed`,
      );
    return sample;
  });
}

/**
 * Reads until a batch has enough messages, past messages of other tables.
 * @param start the query of the start; empty for the oldest message
 * @returns the last batch if none has enough
 */
export async function firstMessages(
  probe: Probe,
  start: string,
  { limit, enough, ...options }: ReadOptions & { limit: number; enough: number },
): Promise<Batch> {
  for (let pageQuery = start, pages = 1; ; pages++) {
    const batch = batchOf(await probe.read(`${pageQuery}${pageQuery && '&'}limit=${limit}`, options));
    const next = `offset=${batch.nextOffset}`;
    const isOver = batch.upToDate === true || next === pageQuery || pages === PAGES_MAX;
    if (batch.messages.length >= enough || isOver) return batch;
    pageQuery = next;
  }
}

/** A message in the middle of the sample, and the one after it. */
export async function middleOf(probe: Probe): Promise<{ message: Message; next: Message; sample: Batch }> {
  const sample = await sampleOf(probe);
  const index = Math.floor(sample.messages.length / 2) - 1;
  return { message: sample.messages[index]!, next: sample.messages[index + 1]!, sample };
}

/** Reads a table to its end. Returns the last read, and all messages. */
export async function readToTail(probe: Probe, query: string, options?: ReadOptions): Promise<Batch> {
  const messages: Message[] = [];
  for (let pageQuery = query, pages = 1; ; pages++) {
    const batch = batchOf(await probe.read(pageQuery, options));
    messages.push(...batch.messages);
    const next = `offset=${batch.nextOffset}`;
    if (batch.upToDate === true || next === pageQuery || pages === PAGES_MAX) return { ...batch, messages };
    pageQuery = next;
  }
}

/**
 * Sends items and returns their offsets.
 * @throws Breach if they are not accepted
 */
export async function sendOwn(
  probe: Probe,
  items: object[],
  table?: string,
): Promise<{ firstOffset: bigint; lastOffset: bigint; atMs: number }> {
  const answer = await probe.send(items, table === undefined ? {} : { table });
  const firstOffset = integerOf(itemMember(answer.item, 'firstOffset'));
  const lastOffset = integerOf(itemMember(answer.item, 'lastOffset'));
  must(
    answer.status === 200 && firstOffset !== undefined && lastOffset !== undefined,
    () => `${describeAnswer(answer)} instead of 200 with firstOffset and lastOffset`,
    answer.sent,
  );
  return { firstOffset, lastOffset, atMs: answer.startedMs };
}

/** @throws Breach unless both lists have the same messages in the same order */
export function mustBeSame(
  seen: Pick<Batch, 'messages' | 'sent'>,
  expected: readonly Message[],
  what: string,
): void {
  const [offsets, expectedOffsets] = [seen.messages, expected].map(
    (messages) => messages.map(({ offset }) => offset).join(', ') || 'none',
  );
  must(
    offsets === expectedOffsets,
    () => `${what}: messages ${offsets} instead of ${expectedOffsets}`,
    seen.sent,
  );
  const changed = seen.messages.find(
    ({ fields }, index) => !isDeepStrictEqual(fields, expected[index]!.fields),
  );
  must(
    changed === undefined,
    () => `${what}: message ${changed?.offset} is not as another request returned it`,
    seen.sent,
  );
}
