import { AUDIT_TABLE, WILDCARD_TABLE } from '../../contract/messages.ts';
import { type StopReason, socketEvents } from '../../contract/socket-events.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { type RateLimit, tooManyText } from '../../http/rate-limit.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Clock } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import type { ReadFilter } from '../log/stream-log.ts';
import { showsAudit } from '../rest/read-request.ts';
import type { ConnectionContext, SocketConnection } from './socket-connection.ts';
import { errorPayload, socketError } from './socket-errors.ts';
import { parseSubscribe, requestIdOf } from './socket-request.ts';
import { createSubscription, type Subscription } from './socket-subscription.ts';

interface SessionOptions {
  /** @throws StreamError InvalidToken if the connection's token is not valid any more */
  recheck(): void;
  rateLimit: RateLimit;
  subscriptionsMax: number;
  retentionMs: number;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

/** The subscriptions of one connection. */
export interface Session {
  /**
   * Handles an event of the client. If the client wants an acknowledgement, the last argument is a function.
   */
  receive(event: string, args: readonly unknown[]): void;
  /** Ends all subscriptions and tells the client why. */
  stop(reason: StopReason, error?: StreamError): Promise<void>;
  /** Ends all subscriptions of a client that has disconnected. */
  close(): void;
  readonly size: number;
}

type Answer = (payload: object) => void;

/** If the rate limit has refused this many requests of a client, the client is disconnected. */
const REFUSALS_MAX = 100;
/**
 * The maximum number of answers that a client has not read. They wait in memory, so their number is limited.
 * Frames wait in the log.
 */
const ANSWERS_UNREAD_MAX = 500;
const REQUEST_ID_CHARACTERS_MAX = 64;

export function createSession(
  connection: SocketConnection,
  context: ConnectionContext,
  options: SessionOptions,
): Session {
  const { rateLimit, logger, subscriptionsMax } = options;
  const subscriptions = new Map<string, Subscription>();
  let refusals = 0;
  /** Answers since all sent data was handed to the operating system. */
  let unread = 0;
  let isClosed = false;
  const stopListening = connection.onClear(() => {
    unread = 0;
  });

  const subscribe = async (payload: unknown, answer: Answer) => {
    const { requestId, start, limit, table } = parseSubscribe(payload);
    options.recheck();
    if (subscriptions.has(requestId))
      throw new StreamError('DuplicateRequest', 'this requestId is in use on this connection', {
        parameter: 'requestId',
      });
    if (subscriptions.size >= subscriptionsMax)
      throw new StreamError(
        'RateLimited',
        `a connection has at most ${subscriptionsMax} subscriptions: stop one, or open another connection`,
      );
    filterOf(table, context);
    const subscription = createSubscription({
      ...options,
      requestId,
      connection,
      source: context,
      // The filter is made anew for each read, because the token can be revoked and its devices can change.
      filterNow: () => {
        options.recheck();
        return filterOf(table, context);
      },
      limit,
      logger,
      onEnd: () => subscriptions.delete(requestId),
    });
    subscriptions.set(requestId, subscription);
    try {
      answer(await subscription.begin(start));
    } catch (error) {
      subscription.cancel();
      throw error;
    }
    await subscription.run();
  };

  const stop = async (payload: unknown, answer: Answer) => {
    const requestId = requestIdOf(payload);
    const subscription = subscriptions.get(requestId);
    if (subscription === undefined)
      throw new StreamError('InvalidRequest', 'no subscription of this connection has this requestId', {
        parameter: 'requestId',
      });
    await subscription.stop('client_stop');
    answer({ requestId });
  };

  const handlers: Readonly<Record<string, typeof subscribe>> = {
    [socketEvents.subscribe]: subscribe,
    [socketEvents.stop]: stop,
  };

  return {
    receive(event, args) {
      if (isClosed) return;
      if (unread > ANSWERS_UNREAD_MAX) return connection.disconnect();
      const callback = args.at(-1);
      const acknowledge: Answer = typeof callback === 'function' ? (payload) => callback(payload) : () => {};
      const payload = typeof args[0] === 'function' ? undefined : args[0];
      const answer: Answer = (content) => {
        unread++;
        acknowledge(content);
        if (event === socketEvents.subscribe) connection.emit(socketEvents.answer, content);
      };
      const refuse = (error: unknown) =>
        answer({ requestId: textIdOf(payload), ...errorPayload(socketError(error, logger)) });
      const waitSeconds = rateLimit.take(context.grant);
      if (waitSeconds > 0) {
        if (++refusals > REFUSALS_MAX) return connection.disconnect();
        return refuse(
          new StreamError('RateLimited', `${tooManyText('requests', context.grant)}; wait ${waitSeconds} s`),
        );
      }
      refusals = 0;
      if (Object.hasOwn(handlers, event)) handlers[event]!(payload, answer).catch(refuse);
      else if (typeof callback === 'function')
        refuse(
          new StreamError(
            'InvalidRequest',
            `this event does not exist: send ${Object.keys(handlers).join(' or ')}`,
          ),
        );
    },
    async stop(reason, error) {
      await Promise.all([...subscriptions.values()].map((subscription) => subscription.stop(reason, error)));
    },
    close() {
      isClosed = true;
      stopListening();
      for (const subscription of [...subscriptions.values()]) subscription.cancel();
    },
    get size() {
      return subscriptions.size;
    },
  };
}

/** The filter of a subscription to a table, or to everything that the token may read. */
function filterOf(table: string | undefined, { devices, seesAudit }: ConnectionContext): ReadFilter {
  if (table !== undefined && showsAudit(table) && !seesAudit)
    throw new StreamError('InsufficientScope', 'the token needs search:read and org:audit here', {
      required: ['search:read', 'org:audit'],
    });
  return {
    ...(table !== undefined && table !== WILDCARD_TABLE && { table }),
    ...(table === undefined && !seesAudit && { exceptTable: AUDIT_TABLE }),
    ...(devices !== 'all' && { devices }),
  };
}

/** The requestId of a payload for an error answer, if it is short text. */
function textIdOf(payload: unknown): string | null {
  const id = typeof payload === 'object' && payload !== null && 'requestId' in payload && payload.requestId;
  return typeof id === 'string' && id.length <= REQUEST_ID_CHARACTERS_MAX ? id : null;
}
