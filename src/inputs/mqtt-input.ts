import type { WorkgroupConfig } from '../config/config.ts';
import type { MqttInput } from '../config/input-settings.ts';
import { type EncodedBatch, encodeMessages } from '../contract/encode-messages.ts';
import { AUDIT_TABLE, type AuditItem } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { errorMessage } from '../lib/errors.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, elapsedOf, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { StreamLog } from '../stream/log/stream-log.ts';
import { createArrivalTimes, type MessageArrival } from './arrival-times.ts';
import { findStored } from './find-stored.ts';
import type { InputCounter } from './input-counter.ts';
import type { InputOutcome } from './input-outcome.ts';
import { type BrokerMessage, keepConnected } from './mqtt-connection.ts';
import { createMessageReader } from './read-mqtt-message.ts';
import { refusedPayload } from './refused-payload.ts';

interface MqttInputOptions {
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices'>;
  settings: MqttInput;
  log: StreamLog;
  counter: InputCounter;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

/** Messages of one input that wait for the log. Beyond this number nothing is read from the broker. */
const WAITING_MESSAGES_MAX = 10_000;
const WAITING_BYTES_MAX = 8 * MEBIBYTE;
/** Refused payloads of one input that are kept in a minute. The others are only counted. */
const REFUSED_A_MINUTE_MAX = 100;
/** Characters of a topic that the state of an input shows. A topic can have 65,535 bytes. */
const TOPIC_CHARACTERS_MAX = 200;
const RETRY_MS_MIN = SECOND_MS;
const RETRY_MS_MAX = 30 * SECOND_MS;

type Reading = Extract<InputOutcome, { kind: 'reading' }>;
type Waiting = BrokerMessage & MessageArrival;
type ReadMessage = { message: Waiting; outcomes: readonly InputOutcome[] };

/**
 * Takes messages of a broker into the log of a workgroup, in their order. A message is acknowledged once its
 * readings are stored. A message that is delivered again is not stored again if its readings have their own
 * time.
 * @returns stops it: messages that were taken are stored and acknowledged
 */
export function startMqttInput(options: MqttInputOptions): () => Promise<void> {
  const { workgroup, settings, log, counter, clock, startTimer, logger } = options;
  const reader = createMessageReader(workgroup, settings.rules);
  const names = { workgroup: workgroup.id, input: settings.id };
  const timeOf = createArrivalTimes();
  const mayKeep = createRefusalQuota(clock);
  let waiting: Waiting[] = [];
  let waitingBytes = 0;
  let paused: Array<() => void> = [];
  let isStopped = false;
  let running: Promise<void> | undefined;
  let endPause = () => {};

  function resumeReading(): void {
    if (waiting.length >= WAITING_MESSAGES_MAX || waitingBytes >= WAITING_BYTES_MAX) return;
    for (const resume of paused.splice(0)) resume();
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      waitingBytes = 0;
      resumeReading();
      if (await storeSafely(batch)) for (const message of batch) message.acknowledge();
    }
    running = undefined;
  }

  /** Tries until the batch is stored. @returns false if the input was stopped before */
  async function storeSafely(batch: readonly Waiting[]): Promise<boolean> {
    const readMessages = batch.map((message) => ({ message, outcomes: outcomesOf(message) }));
    for (let attempt = 1; ; attempt++) {
      try {
        await store(readMessages, attempt > 1);
        counter.problem(undefined);
        return true;
      } catch (error) {
        counter.problem(`messages cannot be stored: ${errorMessage(error)}`);
        logger.warn({ ...names, error: errorMessage(error) }, 'input.not-stored');
        if (isStopped) return false;
        await pause(growingWaitMs(attempt, RETRY_MS_MIN, RETRY_MS_MAX));
      }
    }
  }

  /** Ends early if the input is stopped. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = startTimer(ms, resolve);
      endPause = () => {
        stopTimer();
        resolve();
      };
    });
  }

  function outcomesOf(message: Waiting): InputOutcome[] {
    if (message.isRetained) return [];
    try {
      const outcomes = reader.read(message.topic, message.payload, message.receivedAtMs);
      for (const outcome of outcomes)
        if (outcome.kind === 'reading' && !outcome.hasOwnTime)
          outcome.item.event_time = timeOf(outcome, message);
      return outcomes;
    } catch (error) {
      return [{ kind: 'refused', reason: `the message cannot be read: ${errorMessage(error)}` }];
    }
  }

  /** @param isRetry true if some of the batch may be stored already, because an attempt has failed */
  async function store(batch: readonly ReadMessage[], isRetry: boolean): Promise<void> {
    const readings = batch.flatMap(({ outcomes }) => outcomes.filter(isReading));
    const maybeStored = isRetry
      ? readings
      : batch.flatMap(({ message, outcomes }) =>
          message.isRepeated ? outcomes.filter(isReading).filter(({ hasOwnTime }) => hasOwnTime) : [],
        );
    const known = await findStored(log, maybeStored, clock.now());
    const fresh = readings.filter((reading) => !known.has(reading));
    const refusals = batch.flatMap(({ message, outcomes }) => refusalsOf(message, outcomes));
    await Promise.all(batchesOf(fresh).map((one) => log.append(one)));
    if (refusals.length > 0) await log.append(encodeMessages(refusals, AUDIT_TABLE));
    counter.count('stored', isRetry ? readings.length : fresh.length);
    counter.count('repeated', isRetry ? 0 : known.size);
    for (const { message, outcomes } of batch) noteOutcomes(message, outcomes);
  }

  function refusalsOf(message: Waiting, outcomes: readonly InputOutcome[]): AuditItem[] {
    return outcomes.flatMap((outcome) =>
      outcome.kind === 'refused' && mayKeep(message)
        ? [refusedPayload(settings.id, message, outcome.reason, message.receivedAtMs)]
        : [],
    );
  }

  function noteOutcomes({ topic, isRetained }: Waiting, outcomes: readonly InputOutcome[]): void {
    const about = topic.slice(0, TOPIC_CHARACTERS_MAX);
    if (isRetained) counter.count('retained');
    else if (outcomes.length === 0) counter.noteIgnored(`no rule matches the topic ${about}`);
    for (const outcome of outcomes) {
      if (outcome.kind === 'ignored') counter.noteIgnored(`${about}: ${outcome.reason}`);
      if (outcome.kind === 'refused') counter.noteRefused(about, outcome.reason);
    }
  }

  const connection = keepConnected({
    settings,
    clientId: settings.clientId ?? `wattline-${workgroup.id}-${settings.id}`,
    filters: reader.filters,
    startTimer,
    events: {
      message(message, resume) {
        if (isStopped) return;
        counter.noteReceived();
        waiting.push({ ...message, receivedAtMs: clock.now(), elapsedMs: elapsedOf(clock) });
        waitingBytes += message.payload.length;
        paused.push(resume);
        resumeReading();
        running ??= Promise.resolve().then(work);
      },
      connected() {
        counter.connection('connected');
        logger.info(names, 'input.connected');
      },
      disconnected(reason) {
        counter.connection('disconnected', reason);
        logger.warn({ ...names, reason }, 'input.disconnected');
        paused = [];
        // The broker sends them again.
        waiting = waiting.filter(({ isKept }) => !isKept);
        waitingBytes = waiting.reduce((sum, { payload }) => sum + payload.length, 0);
      },
    },
  });

  return async () => {
    isStopped = true;
    endPause();
    await running;
    await connection.close();
  };
}

/** The readings as appends of a bounded size, in the order of each table. */
function batchesOf(readings: readonly Reading[]): EncodedBatch[] {
  return [...Map.groupBy(readings, ({ table }) => table)].flatMap(([table, tableReadings]) => {
    const batches: EncodedBatch[] = [];
    for (let from = 0; from < tableReadings.length; from += limits.itemsPerIngestMax) {
      const part = tableReadings.slice(from, from + limits.itemsPerIngestMax);
      batches.push(
        encodeMessages(
          part.map(({ item }) => item),
          table,
        ),
      );
    }
    return batches;
  });
}

function isReading(outcome: InputOutcome): outcome is Reading {
  return outcome.kind === 'reading';
}

/** Says which refused payloads are kept. The same payload gets the same answer. */
function createRefusalQuota(clock: Clock): (message: BrokerMessage) => boolean {
  let sinceMs = Number.NEGATIVE_INFINITY;
  const keptMessages = new WeakSet<BrokerMessage>();
  let count = 0;
  return (message) => {
    if (keptMessages.has(message)) return true;
    if (elapsedOf(clock) - sinceMs >= MINUTE_MS) {
      sinceMs = elapsedOf(clock);
      count = 0;
    }
    if (count >= REFUSED_A_MINUTE_MAX) return false;
    count++;
    keptMessages.add(message);
    return true;
  };
}
