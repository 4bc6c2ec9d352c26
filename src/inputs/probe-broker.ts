import { randomUUID } from 'node:crypto';
import type { MqttClient } from 'mqtt';
import type { MqttInput } from '../config/input-settings.ts';
import { type BrokerRefusal, brokerRefusal, subscriptionRefusal } from './broker-refusal.ts';
import { clientOptions } from './client-options.ts';

const NO_RETAINED = 2;

/**
 * Connects to a broker as another client, asks for the topics of an input, and disconnects. It sends no
 * message and leaves no session. The client of a running service stays connected.
 * @returns why the broker cannot be used; undefined if it can
 * @throws the reason of `signal` if it aborts
 */
export async function probeBroker(
  settings: MqttInput,
  { clientId, filters }: { clientId: string; filters: readonly string[] },
  signal: AbortSignal,
): Promise<BrokerRefusal | undefined> {
  signal.throwIfAborted();
  const { connectToBroker } = await import('./mqtt-connection.ts');
  const { promise, resolve, reject } = Promise.withResolvers<BrokerRefusal | undefined>();
  let client: MqttClient;
  try {
    const options = clientOptions(settings, `${clientId}-doctor-${randomUUID().slice(0, 8)}`);
    client = connectToBroker(settings.url, { ...options, clean: true });
  } catch (error) {
    return brokerRefusal(error as Error, settings);
  }
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  client.on('error', (error) => resolve(brokerRefusal(error, settings)));
  client.on('close', () => resolve({ found: 'the broker has closed the connection', next: 'see its log' }));
  client.on('connect', () => {
    const subscriptions = filters.map((filter) => [filter, { qos: 0 as const, rh: NO_RETAINED }]);
    client.subscribe(Object.fromEntries(subscriptions), (error, granted) =>
      resolve(subscriptionRefusal(error, granted)),
    );
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', abort);
    client.end(true);
  }
}
