import { expect, test } from 'vitest';
import type { MqttInput } from '../../src/config/input-settings.ts';
import { brokerRefusal, refusalText, subscriptionRefusal } from '../../src/inputs/broker-refusal.ts';
import { clientOptions } from '../../src/inputs/client-options.ts';

const anonymous = { version: 5 } as MqttInput;
const user = { ...anonymous, username: 'meter', password: 'secret' };
const certified = { ...anonymous, clientCertificate: 'cert', clientKey: 'key' };

test.each<[code: number | string | undefined, settings: MqttInput, words: string]>([
  ...[4, 5, 0x86, 0x87].flatMap(
    (code): Array<[number, MqttInput, string]> => [
      [code, anonymous, 'wants a user and a password; set username'],
      [code, user, 'refuses the user "meter" or its password'],
    ],
  ),
  [1, anonymous, 'set version: "3.1.1"'],
  [0x84, anonymous, 'set version: "3.1.1"'],
  [1, { ...anonymous, version: '3.1.1' }, 'set version: 5'],
  [3, anonymous, 'it does not work'],
  [undefined, anonymous, 'it does not work'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', anonymous, 'wants a certificate of its clients'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', certified, 'refuses the client certificate'],
  ['CERT_HAS_EXPIRED', anonymous, 'the certificate of the broker has expired'],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    anonymous,
    'is for another name; write the name of the certificate into url',
  ],
  ['SELF_SIGNED_CERT_IN_CHAIN', anonymous, 'is not trusted (SELF_SIGNED_CERT_IN_CHAIN); set ca'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', anonymous, 'is not trusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', anonymous, 'is not trusted'],
  ['ECONNREFUSED', anonymous, 'it does not work (ECONNREFUSED)'],
])('a broker that refuses with %s: what to do', (code, settings, words) => {
  const text = refusalText(brokerRefusal(Object.assign(new Error('it does not work'), { code }), settings));
  expect(text).toContain(words);
  expect(text).not.toContain('secret');
});

test('a code that the message has already is not repeated', () => {
  const error = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1'), { code: 'ECONNREFUSED' });
  expect(brokerRefusal(error, anonymous)).toEqual({ found: 'connect ECONNREFUSED 127.0.0.1' });
});

test('words of another program are no advice, also with a semicolon', () => {
  expect(brokerRefusal(new Error('not now; busy'), anonymous)).toEqual({ found: 'not now; busy' });
});

test('the topics that a broker refuses are named, and each other answer grants them', () => {
  expect(
    subscriptionRefusal(null, [
      { topic: 'a', qos: 0 },
      { topic: 'b', qos: 2 },
    ]),
  ).toBeUndefined();
  const next = 'allow the user to read these topics';
  expect(subscriptionRefusal(null, [{ topic: 'a', qos: 1 }, { topic: 'b', qos: 128 } as never])).toEqual({
    found: 'the broker refuses the subscription to b',
    next,
  });
  expect(subscriptionRefusal(new Error('gone'))).toEqual({
    found: 'the broker refuses the subscription',
    next,
  });
});

test('only what is configured is sent to a broker, in its version', () => {
  const properties = { sessionExpiryInterval: 60 };
  expect(clientOptions(anonymous, 'me', properties)).toEqual({
    clientId: 'me',
    reconnectPeriod: 0,
    connectTimeout: 15_000,
    keepalive: 30,
    protocolVersion: 5,
    properties,
  });
  const older = clientOptions({ ...user, ...certified, ca: 'ca', version: '3.1.1' }, 'me', properties);
  expect(older).toMatchObject({ username: 'meter', ca: 'ca', cert: 'cert', key: 'key', protocolVersion: 4 });
  expect(older).not.toHaveProperty('properties');
});
