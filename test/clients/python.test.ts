// @module-tag slow
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { encodeMessages } from '../../src/contract/encode-messages.ts';
import type { StreamMessage } from '../../src/contract/messages.ts';
import { parseJsonExact } from '../../src/lib/json-text.ts';
import { decodeParts, deviceId } from '../support/messages.ts';
import { MISSING, python } from '../support/python.ts';
import { isFull } from '../support/rounds.ts';
import { startStreamService } from '../support/stream-service.ts';

type Result = Record<string, unknown>;

async function setUp() {
  const service = await startStreamService();
  const token = await service.token();
  const log = await service.stream.logOf('acme');
  const run = async (job: Record<string, unknown>): Promise<Result> => {
    const child = spawn(python!, [join(import.meta.dirname, 'client.py')], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const address = `${service.baseUrl}/api/v1/tables/acme/solar`;
    const facts = { url: service.baseUrl, address, workgroup: 'acme', table: 'solar', token };
    child.stdin.end(JSON.stringify({ ...facts, ...job }));
    const [output, problem] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (output === '') throw new Error(`Python ended without a result: ${problem}`);
    return parseJsonExact(output) as Result;
  };
  const stored = async () => {
    const outcome = await log.read({ from: 'oldest', limit: 1_000, bytesMax: 1e6, oneAtLeast: true });
    return outcome.kind === 'batch' ? decodeParts(outcome.parts) : [];
  };
  return { log, run, stored };
}

const items = Array.from({ length: 8 }, (_, number) => ({
  device: deviceId(number),
  source: number % 2 === 0 ? 'Dach süd 屋根 \u{1f31e}' : null,
  event_time: 1_800_000_000_000 + number,
  msg_id: number,
  data: {
    whole: number,
    million: 1_000_000,
    part: 0.1,
    half: 0.5,
    largest: 2n ** 64n - 1n,
    least: -(2n ** 64n),
    beyond: 2n ** 53n + 1n,
    text: 'Grüße, "世界"\n',
    yes: true,
    nothing: null,
  },
}));

const typesOfAll = {
  offset: 'int',
  store_time: 'int',
  table: 'str',
  kind: 'str',
  device: 'str',
  event_time: 'int',
  msg_id: 'int',
  data: {
    whole: 'int',
    million: 'int',
    part: 'float',
    half: 'float',
    largest: 'int',
    least: 'int',
    beyond: 'int',
    text: 'str',
    yes: 'bool',
    nothing: 'NoneType',
  },
};

function expectAll(result: Result, messages: StreamMessage[]): void {
  expect(result.messages).toEqual(messages);
  for (const types of result.types as unknown[]) expect(types).toMatchObject(typesOfAll);
}

beforeAll(() => {
  if (isFull && python === undefined) process.stderr.write(`skipped: ${MISSING}\n`);
});

describe('a client in Python', () => {
  test('reads over REST, and decodes with cbor2, exactly what was sent', async ({ skip }) => {
    skip(python === undefined, MISSING);
    const { log, run, stored } = await setUp();
    await log.append(encodeMessages(items, 'solar'));
    const result = await run({ do: 'read_rest' });
    expect(result.messages).toHaveLength(items.length);
    expectAll(result, await stored());
  });

  test('reads stored and new messages over socket.io', async ({ skip }) => {
    skip(python === undefined, MISSING);
    const { log, run, stored } = await setUp();
    const { firstOffset } = await log.append(encodeMessages(items.slice(0, 5), 'solar'));
    const reading = run({ do: 'read_socket', offset: String(firstOffset), count: items.length });
    await log.append(encodeMessages(items.slice(5), 'solar'));
    const result = await reading;
    expect(result.came).toBe(true);
    expect(result.answers).toMatchObject([{ nextOffset: String(firstOffset) }]);
    expectAll(result, await stored());
  });

  test('sends messages encoded by cbor2, which are stored unchanged', async ({ skip }) => {
    skip(python === undefined, MISSING);
    const { run, stored } = await setUp();
    const result = await run({ do: 'send', device: deviceId(7) });
    expect(result).toMatchObject({ status: 200, body: { accepted: 5 } });
    const messages = await stored();
    expect(messages.map(({ offset }) => offset).at(-1)).toBe((result.body as Result).lastOffset);
    expect(messages).toHaveLength(5);
    for (const [number, message] of messages.entries())
      expect(message).toMatchObject({
        device: deviceId(7),
        source: 'python',
        event_time: 1_800_000_000_000 + number,
        msg_id: number,
        data: {
          whole: number,
          part: 0.1,
          largest: 2n ** 64n - 1n,
          least: -(2n ** 63n),
          text: 'Grüße, 世界 \u{1f31e}',
          yes: true,
          nothing: null,
        },
      });
  });
});
