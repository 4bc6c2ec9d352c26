import type { ISubscriptionGrant } from 'mqtt';
import type { MqttInput } from '../config/input-settings.ts';
import { errorMessage } from '../lib/errors.ts';

/** The reason codes of a refused connection, of MQTT 3.1.1 and of MQTT 5. */
const refusedUser = new Set([4, 5, 0x86, 0x87]);
const refusedVersion = new Set([1, 0x84]);

/** Why a broker cannot be used, and what to do. It has no password. */
export function brokerRefusal(error: Error & { code?: unknown }, settings: MqttInput): string {
  const { username, version, clientCertificate } = settings;
  const { code } = error;
  if (typeof code === 'number' && refusedUser.has(code))
    return username === undefined
      ? 'the broker wants a user and a password; set username and password'
      : `the broker refuses the user "${username}" or its password; correct username and password`;
  if (typeof code === 'number' && refusedVersion.has(code))
    return `the broker does not know this version of MQTT; set version: ${version === 5 ? '"3.1.1"' : 5}`;
  if (typeof code !== 'string') return errorMessage(error);
  // The broker sends an alert of TLS about the certificate of the client.
  if (code.includes('_ALERT_'))
    return clientCertificate === undefined
      ? `the broker wants a certificate of its clients (${code}); set clientCertificate and clientKey`
      : `the broker refuses the client certificate (${code}); correct clientCertificate and clientKey`;
  if (code === 'CERT_HAS_EXPIRED')
    return 'the certificate of the broker has expired; ask its operator to renew it';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of the broker is for another name; write the name of the certificate into url (${errorMessage(error)})`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return `the certificate of the broker is not trusted (${code}); set ca to the authority that has signed it`;
  return error.message.includes(code) ? errorMessage(error) : `${errorMessage(error)} (${code})`;
}

/** Why the topics of an input cannot be read. Undefined if the broker has granted them. */
export function subscriptionRefusal(
  error: Error | null,
  granted: readonly ISubscriptionGrant[] = [],
): string | undefined {
  const refused = granted.find(({ qos }) => qos >= 128);
  if (!error && !refused) return undefined;
  return `the broker refuses the subscription${refused ? ` to ${refused.topic}` : ''}; allow the user to read these topics`;
}
