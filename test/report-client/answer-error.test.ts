import { expect, test } from 'vitest';
import { TransientError } from '../../src/lib/errors.ts';
import { answerError } from '../../src/report-client/answer-error.ts';

const of = { what: 'GET a', token: 'secret', nowMs: 0 };
const errorOf = (status: number, text: string, headers = {}) =>
  answerError({ status, headers: new Headers(headers) }, text, of);

test('a proxy that says nothing is asked again if its status may be over soon', () => {
  const statuses = [400, 401, 403, 404, 408, 409, 410, 418, 425, 429, 500, 501, 502, 503, 504];
  const again = statuses.filter((status) => errorOf(status, '<html>') instanceof TransientError);
  expect(again).toEqual([408, 425, 429, 500, 502, 503, 504]);
  expect(errorOf(502, '<html>')).toMatchObject({
    code: 'Http502',
    message: 'GET a: the server answered 502',
    details: { status: 502 },
  });
});

test('our own answer decides itself whether it is asked again, and names its parameter and its wait', () => {
  const body = { error: 'Busy', message: 'no secret', retryable: true, parameter: 'startDate' };
  expect(errorOf(400, JSON.stringify(body), { 'retry-after': '3' })).toMatchObject({
    code: 'Busy',
    message: 'GET a: no [token]',
    details: { status: 400, parameter: 'startDate', retryAfterMs: 3_000 },
  });
  expect(errorOf(400, JSON.stringify(body))).toBeInstanceOf(TransientError);
  expect(errorOf(503, JSON.stringify({ ...body, retryable: false }))).not.toBeInstanceOf(TransientError);
});
