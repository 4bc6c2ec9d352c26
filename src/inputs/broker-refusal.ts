import type { ISubscriptionGrant } from 'mqtt';
import type { MqttInput } from '../config/input-settings.ts';
import { errorMessage } from '../lib/errors.ts';

/** Why a broker cannot be used. It has no password. */
export interface BrokerRefusal {
  found: string;
  /** What to do. Undefined if the broker or the network does not say enough. */
  next?: string;
}

/** The reason codes of a refused connection, of MQTT 3.1.1 and of MQTT 5. */
const refusedUser = new Set([4, 5, 0x86, 0x87]);
const refusedVersion = new Set([1, 0x84]);

export function brokerRefusal(error: Error & { code?: unknown }, settings: MqttInput): BrokerRefusal {
  const { username, version, clientCertificate } = settings;
  const { code } = error;
  if (typeof code === 'number' && refusedUser.has(code))
    return username === undefined
      ? { found: 'the broker wants a user and a password', next: 'set username and password' }
      : {
          found: `the broker refuses the user "${username}" or its password`,
          next: 'correct username and password',
        };
  if (typeof code === 'number' && refusedVersion.has(code))
    return {
      found: 'the broker does not know this version of MQTT',
      next: `set version: ${version === 5 ? '"3.1.1"' : 5}`,
    };
  if (typeof code !== 'string') return { found: errorMessage(error) };
  // The broker sends an alert of TLS about the certificate of the client.
  if (code.includes('_ALERT_'))
    return clientCertificate === undefined
      ? {
          found: `the broker wants a certificate of its clients (${code})`,
          next: 'set clientCertificate and clientKey',
        }
      : {
          found: `the broker refuses the client certificate (${code})`,
          next: 'correct clientCertificate and clientKey',
        };
  if (code === 'CERT_HAS_EXPIRED')
    return { found: 'the certificate of the broker has expired', next: 'ask its operator to renew it' };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      found: 'the certificate of the broker is for another name',
      next: `write the name of the certificate into url (${errorMessage(error)})`,
    };
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return {
      found: `the certificate of the broker is not trusted (${code})`,
      next: 'set ca to the authority that has signed it',
    };
  return {
    found: error.message.includes(code) ? errorMessage(error) : `${errorMessage(error)} (${code})`,
  };
}

/** Why the topics of an input cannot be read. Undefined if the broker has granted them. */
export function subscriptionRefusal(
  error: Error | null,
  granted: readonly ISubscriptionGrant[] = [],
): BrokerRefusal | undefined {
  const refused = granted.find(({ qos }) => qos >= 128);
  if (!error && !refused) return undefined;
  return {
    found: `the broker refuses the subscription${refused ? ` to ${refused.topic}` : ''}`,
    next: 'allow the user to read these topics',
  };
}

/** The refusal and what to do, as one line. */
export function refusalText({ found, next }: BrokerRefusal): string {
  return next === undefined ? found : `${found}; ${next}`;
}
