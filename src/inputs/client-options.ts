import type { IClientOptions } from 'mqtt';
import type { MqttInput } from '../config/input-settings.ts';
import { SECOND_MS } from '../lib/time.ts';

const CONNECT_MS = 15 * SECOND_MS;
const KEEP_ALIVE_SECONDS = 30;

/**
 * How to connect to a broker. The library does not connect again by itself.
 * @param properties what only MQTT 5 knows
 */
export function clientOptions(
  settings: MqttInput,
  clientId: string,
  properties: NonNullable<IClientOptions['properties']> = {},
): IClientOptions {
  const { username, password, ca, clientCertificate, clientKey, version } = settings;
  return {
    clientId,
    reconnectPeriod: 0,
    connectTimeout: CONNECT_MS,
    keepalive: KEEP_ALIVE_SECONDS,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(ca !== undefined && { ca }),
    ...(clientCertificate !== undefined && { cert: clientCertificate, key: clientKey! }),
    ...(version === 5 ? { protocolVersion: 5, properties } : { protocolVersion: 4 }),
  };
}
