import { expect, test } from 'vitest';
import { asCommand, type Sent } from '../../src/conformance/sent-request.ts';
import { type Target, tokenShownAs } from '../../src/conformance/target.ts';

const target = { token: 'secret', restrictedToken: 'hidden' } as Target;
const shown = (sent: Sent) => asCommand(sent, (token) => tokenShownAs(target, token));
const curl = 'curl -sS -D - -o answer.cbor';
const request = { kind: 'http', url: 'http://a/x?y=1&z=2', token: undefined, headers: {} } as const;

test.each<[name: string, sent: Sent, command: string]>([
  ['a read without a token', request, `${curl} 'http://a/x?y=1&z=2'`],
  [
    'a token as its variable',
    { ...request, token: 'secret' },
    `${curl} -H "Authorization: Bearer $WATTLINE_TOKEN" 'http://a/x?y=1&z=2'`,
  ],
  [
    'the restricted token as its variable',
    { ...request, token: 'hidden' },
    `${curl} -H "Authorization: Bearer $WATTLINE_RESTRICTED_TOKEN" 'http://a/x?y=1&z=2'`,
  ],
  [
    'a token that the suite made up, as it is',
    { ...request, token: 'no-token' },
    `${curl} -H "Authorization: Bearer no-token" 'http://a/x?y=1&z=2'`,
  ],
  [
    'quotation marks of a text body for a shell',
    { ...request, headers: { 'content-type': 'application/json' }, body: `["it's"]` },
    `${curl} -H 'content-type: application/json' --data-binary '["it'\\''s"]' 'http://a/x?y=1&z=2'`,
  ],
  [
    'a binary body as hex',
    { ...request, body: Uint8Array.from([0x9f, 0x01]) },
    `echo 9f01 | xxd -r -p | ${curl} --data-binary @- 'http://a/x?y=1&z=2'`,
  ],
  [
    'the size of a long body in its place',
    { ...request, body: 'x'.repeat(1_001) },
    `${curl} --data-binary @body  'http://a/x?y=1&z=2'  # body: 1001 bytes, not shown`,
  ],
  ['the steps over a socket', { kind: 'socket', steps: ['connect', 'emit a'] }, 'connect; emit a'],
])('a command to repeat a request has %s', (_, sent, command) => {
  expect(shown(sent)).toBe(command);
});
