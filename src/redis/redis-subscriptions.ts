import type { Redis } from 'ioredis';

/** The subscriptions of a connection, which are made again after each reconnection. */
export interface RedisSubscriptions {
  /**
   * Subscribes to all channels that match a pattern, until the connection closes. News can be lost when it
   * breaks.
   */
  subscribePattern(pattern: string, listener: (channel: string) => void): Promise<void>;
  /**
   * Subscribes to a channel. News can be lost when the connection breaks. Returns a function that
   * unsubscribes.
   */
  subscribe(channel: string, listener: (news: string) => void): Promise<() => Promise<void>>;
}

/**
 * The library's own resubscription is not used, because a caller cannot catch its errors.
 * @param asFailure makes the error of a caller from an error of Redis
 * @param onSubscribed called when all subscriptions were made again
 */
export function createRedisSubscriptions(
  subscriber: Redis,
  {
    asFailure = (error) => error,
    onSubscribed = () => undefined,
  }: { asFailure?: (error: unknown) => unknown; onSubscribed?: () => void } = {},
): RedisSubscriptions {
  const patternListeners = new Map<string, (channel: string) => void>();
  const channelListeners = new Map<string, (news: string) => void>();
  subscriber.on('ready', () => {
    const channels = [...channelListeners.keys()];
    const patterns = [...patternListeners.keys()];
    Promise.all([
      channels.length > 0 && subscriber.subscribe(...channels),
      patterns.length > 0 && subscriber.psubscribe(...patterns),
    ]).then(onSubscribed, () => undefined);
  });
  subscriber.on('pmessage', (pattern, channel) => patternListeners.get(pattern)?.(channel));
  subscriber.on('message', (channel, message) => channelListeners.get(channel)?.(message));
  return {
    async subscribePattern(pattern, listener) {
      patternListeners.set(pattern, listener);
      await subscriber.psubscribe(pattern).catch((error) => {
        throw asFailure(error);
      });
    },
    async subscribe(channel, listener) {
      channelListeners.set(channel, listener);
      await subscriber.subscribe(channel).catch((error) => {
        throw asFailure(error);
      });
      return async () => {
        channelListeners.delete(channel);
        if (subscriber.status === 'ready') await subscriber.unsubscribe(channel);
      };
    },
  };
}
