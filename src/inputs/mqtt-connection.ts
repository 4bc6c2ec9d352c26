import { connect, type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import type { MqttInput } from '../config/input-settings.ts';
import { errorMessage } from '../lib/errors.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { brokerRefusal, refusalText, subscriptionRefusal } from './broker-refusal.ts';
import { clientOptions } from './client-options.ts';
import { cutPackets } from './packet-cutter.ts';

/** A message of a broker. */
export interface BrokerMessage {
  topic: string;
  payload: Uint8Array;
  /** True if the broker has kept it and sends it to every new subscription. */
  isRetained: boolean;
  /** True if the broker may have sent it before. */
  isRepeated: boolean;
  /** True if the broker sends it again until it is acknowledged. */
  isKept: boolean;
  /**
   * Acknowledges the message to the broker. Does nothing if the connection has ended or the message needs
   * none.
   */
  acknowledge(): void;
}

interface BrokerEvents {
  /**
   * Takes a message. The connection continues to read once `resume` is called.
   */
  message(message: BrokerMessage, resume: () => void): void;
  connected(): void;
  /** The connection has ended or could not be opened. Messages that are not acknowledged come again. */
  disconnected(reason: string): void;
}

interface BrokerConnection {
  /** Sends the acknowledgements and disconnects. The session stays at the broker. */
  close(): Promise<void>;
}

/** Messages that the broker sends before it waits for acknowledgements. */
const UNACKNOWLEDGED_MAX = 2_000;
/** The broker keeps the session, with its messages, for this long without us. */
const SESSION_MS = 7 * DAY_MS;
/** A broker of MQTT 5 does not send larger ones. */
const PACKET_BYTES_MAX = 2 * MEBIBYTE;
/**
 * A packet can have 256 MiB, and the library gathers it as a whole. Bytes beyond this size are cut off. The
 * rest is still larger than a message may be, so it is refused and acknowledged like every large message, and
 * the next ones are read. A broker of MQTT 5 gets a smaller size as its limit.
 */
const GATHERED_BYTES_MAX = 16 * MEBIBYTE;
const RETRY_MS_MIN = SECOND_MS;
const RETRY_MS_MAX = MINUTE_MS;
const BROKER_CLOSE_TIMEOUT_MS = 2 * SECOND_MS;

const RETAIN_AT_NO_SUBSCRIPTION = 2;

/**
 * Keeps a connection to a broker, with a session that outlives it. After a failure it connects again, after a
 * second at first and after up to a minute later.
 */
export function keepConnected(options: {
  settings: MqttInput;
  clientId: string;
  filters: readonly string[];
  events: BrokerEvents;
  startTimer: StartTimer;
}): BrokerConnection {
  const { events, startTimer } = options;
  let client: MqttClient | undefined;
  let isClosed = false;
  let retryMs = RETRY_MS_MIN;
  let stopRetry = () => {};

  function noteDisconnected(reason: string): void {
    client = undefined;
    if (isClosed) return;
    events.disconnected(reason);
    // Many clients of a restarted broker must not connect at the same time.
    stopRetry = startTimer(retryMs * (0.5 + Math.random() / 2), connectAgain);
    retryMs = Math.min(RETRY_MS_MAX, retryMs * 2);
  }
  function connectAgain(): void {
    const noteConnected = () => {
      retryMs = RETRY_MS_MIN;
      events.connected();
    };
    try {
      client = openConnection(options, {
        ...events,
        connected: noteConnected,
        disconnected: noteDisconnected,
      });
    } catch (error) {
      // A certificate that cannot be read.
      noteDisconnected(errorMessage(error));
    }
  }
  connectAgain();
  return {
    async close() {
      isClosed = true;
      stopRetry();
      const current = client;
      if (current === undefined) return;
      const whenEnded = new Promise<void>((resolve) => current.end(false, () => resolve()));
      const { promise: whenLate, resolve } = Promise.withResolvers<void>();
      const stopTimer = startTimer(BROKER_CLOSE_TIMEOUT_MS, resolve);
      await Promise.race([whenEnded, whenLate]);
      stopTimer();
      current.stream.destroy();
    },
  };
}

/** One connection. `disconnected` is called once. */
function openConnection(
  { settings, clientId, filters, startTimer }: Omit<Parameters<typeof keepConnected>[0], 'events'>,
  events: BrokerEvents,
): MqttClient {
  const client = connectToBroker(settings.url, {
    ...clientOptions(settings, clientId, {
      sessionExpiryInterval: SESSION_MS / SECOND_MS,
      receiveMaximum: UNACKNOWLEDGED_MAX,
      maximumPacketSize: PACKET_BYTES_MAX,
    }),
    clean: false,
  });
  let reason: string | undefined;
  let isOver = false;
  let stopRequests = () => {};
  const end = (why: string) => {
    reason ??= why;
    client.end(true);
    noteOver();
  };
  const noteOver = () => {
    if (isOver) return;
    isOver = true;
    stopRequests();
    events.disconnected(reason ?? 'the broker has closed the connection');
  };

  client.handleMessage = (packet, done) => {
    // An error as the answer continues reading without an acknowledgement. It is sent once the message is
    // stored.
    const resume = () => done(notYet);
    if (isOver) return;
    events.message(
      messageOf(packet, client, () => isOver),
      resume,
    );
  };
  client.on('connect', () => {
    const subscriptions = Object.fromEntries(
      filters.map((filter) => [filter, { qos: 1 as const, rh: RETAIN_AT_NO_SUBSCRIPTION }]),
    );
    client.subscribe(subscriptions, (error, granted = []) => {
      if (isOver) return;
      const refusal = subscriptionRefusal(error, granted);
      if (refusal !== undefined) return end(refusalText(refusal));
      events.connected();
      stopRequests = sendRequests(client, settings.request, startTimer);
    });
  });
  client.on('disconnect', ({ reasonCode }) => {
    if (reasonCode === SESSION_TAKEN_OVER)
      reason = `another client uses the session "${clientId}"; stop it, or set clientId`;
  });
  client.on('error', (error) => end(refusalText(brokerRefusal(error, settings))));
  client.on('close', noteOver);
  return client;
}

const notYet = new Error('the message is not stored yet');
const SESSION_TAKEN_OVER = 0x8e;

function messageOf(
  { topic, payload, qos, retain, dup, messageId }: IPublishPacket,
  { stream }: MqttClient,
  isOver: () => boolean,
): BrokerMessage {
  return {
    topic,
    payload: typeof payload === 'string' ? Buffer.from(payload) : payload,
    isRetained: retain,
    isRepeated: dup,
    isKept: qos > 0,
    acknowledge() {
      if (qos === 0 || messageId === undefined || isOver()) return;
      // The library has no function for it. This form means success in every version (MQTT 5.0, section
      // 3.4.2.1).
      stream.write(Buffer.of(PUBACK, 2, messageId >> 8, messageId & 0xff));
    },
  };
}

const PUBACK = 0x40;

function sendRequests(client: MqttClient, request: MqttInput['request'], startTimer: StartTimer): () => void {
  if (request === undefined) return () => undefined;
  const { topic, payload, every } = request;
  let stopTimer = () => {};
  const send = () => {
    client.publish(topic, payload, { qos: 0 });
    stopTimer = startTimer(every, send);
  };
  send();
  return () => stopTimer();
}

/** Connects to a broker. Large packets are cut. @throws Error if a certificate cannot be read */
export function connectToBroker(url: string, options: IClientOptions): MqttClient {
  const client = connect(url, options);
  // The library has no place for a stream between the network and its parser.
  cutPackets(client.stream, GATHERED_BYTES_MAX);
  return client;
}
