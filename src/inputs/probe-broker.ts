import { randomUUID } from 'node:crypto';
import type { MqttInput } from '../config/input-settings.ts';
import { TransientError } from '../lib/errors.ts';
import { brokerRefusal, subscriptionRefusal } from './broker-refusal.ts';
import { clientOptions } from './client-options.ts';

const NO_RETAINED = 2;

/**
 * Connects to a broker as another client, asks for the topics of an input, and disconnects. It sends no
 * message and leaves no session. The client of a running service stays connected.
 * @throws TransientError that says what is wrong, without the password; the reason of `signal` if it aborts
 */
export async function probeBroker(
  settings: MqttInput,
  { clientId, filters }: { clientId: string; filters: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { connectToBroker } = await import('./mqtt-connection.ts');
  const refusedError = (words: string) => new TransientError('BrokerUnusable', words);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const open = () => {
    try {
      const options = clientOptions(settings, `${clientId}-doctor-${randomUUID().slice(0, 8)}`);
      return connectToBroker(settings.url, { ...options, clean: true });
    } catch (error) {
      throw refusedError(brokerRefusal(error as Error, settings));
    }
  };
  const client = open();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  client.on('error', (error) => reject(refusedError(brokerRefusal(error, settings))));
  client.on('close', () => reject(refusedError('the broker has closed the connection; see its log')));
  client.on('connect', () => {
    const subscriptions = filters.map((filter) => [filter, { qos: 0 as const, rh: NO_RETAINED }]);
    client.subscribe(Object.fromEntries(subscriptions), (error, granted) => {
      const refusal = subscriptionRefusal(error, granted);
      if (refusal === undefined) resolve();
      else reject(refusedError(refusal));
    });
  });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', abort);
    client.end(true);
  }
}
