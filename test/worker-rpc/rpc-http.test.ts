import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { MEBIBYTE } from '../../src/lib/units.ts';
import { hasSecret, parseRpcBody, readRpcBody, readRpcReply } from '../../src/worker-rpc/rpc-http.ts';

/** A message with this body, in two pieces. */
const messageOf = (body: string) =>
  Readable.from([Buffer.from(body.slice(0, 1)), Buffer.from(body.slice(1))]) as IncomingMessage;
/** JSON with this number of bytes. */
const jsonOf = (bytes: number) => `{"args":"${'x'.repeat(bytes - 11)}"}`;

test('the arguments of a call have up to 1 MiB', async () => {
  expect(await readRpcBody(messageOf('{"args":{"a":1}}'))).toEqual({ args: { a: 1 } });
  expect(await readRpcBody(messageOf(jsonOf(MEBIBYTE)))).toHaveProperty('args');
  await expect(readRpcBody(messageOf(jsonOf(MEBIBYTE + 1)))).rejects.toMatchObject({
    code: 'TooLarge',
    retryable: false,
  });
});

test('an answer may be larger than the arguments', async () => {
  const result = 'x'.repeat(2 * MEBIBYTE);
  expect(await readRpcReply(messageOf(JSON.stringify({ result })))).toEqual({ result });
});

test.each(['', '{', 'no JSON'])('arguments that are no JSON are refused: "%s"', (text) => {
  expect(() => parseRpcBody(Buffer.from(text))).toThrow(
    expect.objectContaining({ code: 'InvalidArguments', message: 'the arguments are not JSON' }),
  );
});

test.each(['null', '1', '"a"'])('a body without members has no arguments: %s', (text) => {
  expect(parseRpcBody(Buffer.from(text)).args).toBeUndefined();
});

test.each<[header: string | undefined, isRight: boolean]>([
  ['Bearer the-secret', true],
  ['Bearer the-secret2', false],
  ['Bearer the-secre', false],
  ['Basic the-secret', false],
  ['the-secret', false],
  ['', false],
  [undefined, false],
])('a caller has the secret if its header is %j: %s', (authorization, isRight) => {
  const headers = { ...(authorization !== undefined && { authorization }) };
  expect(hasSecret({ headers } as IncomingMessage, 'the-secret')).toBe(isRight);
});
