import { describe, expect, it } from 'vitest';
import { decodeCbor, encodeCbor, MalformedError } from '../../src/cbor/cbor-codec.ts';
import { encodeMessages, stampMessages } from '../../src/contract/encode-messages.ts';
import { bodyFromRoots } from '../../src/decode/decode-body.ts';
import { createMessageDecoder, type DecodedBody } from '../../src/decode/message-decoder.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { encodeReadHead } from '../../src/stream/encode-read-head.ts';
import { decodeCborSequence } from '../support/decode-cbor-sequence.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { columnMessages, expectSame } from './column-messages.ts';

const SEED = 20_261_120;
const MUTATED_CASES = rounds(2_000, 24_000);
const RANDOM_CASES = rounds(1_000, 12_000);
/** The least number of cases of each outcome, so that none is missing. */
const OUTCOMES_MIN = rounds(160, 2_000);
const DEVICE = '0f8fad5b-d9cb-469f-a165-70867728950e';

const random = seededRandom(SEED);
const below = (count: number) => Math.floor(random() * count);

/** Bodies of all kinds, to be damaged. */
function wholeBodies(): Uint8Array[] {
  const batch = encodeMessages(
    [
      {
        device: DEVICE,
        source: 'grid',
        event_time: 1_763_640_300_123,
        msg_id: 3,
        data: { power: 1.1, energy: 7, text: 'ü', on: true },
      },
      { device: DEVICE, event_time: 6, data: { power: -2, big: 2n ** 60n, none: null } },
      { device: DEVICE, state: 'offline', event_time: 7, reason: 'timeout' },
      { actor: 'ann', action: 'token.issue', event_time: 8, data: { scope: 'data:read' } },
    ],
    'solar',
  );
  stampMessages(batch, 2n ** 60n, 1_763_640_300_456);
  const head = { nextOffset: 2n ** 60n + 4n, count: 4, upToDate: true, earliestOffset: 1n, epoch: 'e1' };
  const foreign = {
    offset: '7',
    table: 'solar',
    device_id: DEVICE,
    timestamp: '2025-11-20T12:05:00Z',
    store_time: 5,
    data: { power: 1 },
    extra: [1],
  };
  return [
    Buffer.concat([encodeReadHead(head), batch.bytes]),
    Buffer.from(encodeCbor({ items: [foreign, foreign], next_offset: 9 })),
    Buffer.concat([encodeCbor(foreign), encodeCbor({ nextOffset: 8 })]),
    Buffer.from(encodeCbor({ error: { code: 'gone' }, status: 410, nextOffset: 2n ** 60n })),
    Buffer.from(JSON.stringify({ records: [foreign], cursor: '5' })),
  ];
}

const interesting = [
  0x00, 0x17, 0x18, 0x1b, 0x3b, 0x5f, 0x7f, 0x80, 0x9f, 0xa0, 0xbb, 0xbf, 0xc0, 0xd9, 0xf6, 0xf8, 0xfb, 0xff,
];

function mutated(body: Uint8Array): Uint8Array {
  let bytes = Buffer.from(body);
  for (let rounds = 1 + below(4); rounds > 0; rounds--) {
    const at = below(bytes.length);
    const part = bytes.subarray(at, at + 1 + below(40));
    switch (below(7)) {
      case 0:
        bytes[at] = below(256);
        break;
      case 1:
        bytes[at] = interesting[below(interesting.length)]!;
        break;
      case 2:
        bytes[at]! ^= 1 << below(8);
        break;
      case 3:
        bytes = bytes.subarray(0, at);
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
        break;
      case 5:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + part.length)]);
        break;
      default:
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          Buffer.from([interesting[below(interesting.length)]!]),
          bytes.subarray(at),
        ]);
    }
    if (bytes.length === 0) break;
  }
  return bytes;
}

/** Runs a function. A MalformedError is a result; any other error is a defect. */
function outcome<T>(run: () => T): T | MalformedError {
  try {
    return run();
  } catch (error) {
    if (error instanceof MalformedError) return error;
    throw error;
  }
}

/** The content of a body, without the bytes of rejected messages, which both readers store differently. */
function saying(body: DecodedBody | MalformedError, names: ReturnType<typeof createNameTable>): unknown {
  if (body instanceof MalformedError) return 'malformed';
  if (body.kind === 'error') return body;
  const { columns, ...facts } = body;
  const rejected = columns.rejected.map(({ bytes: _, ...rest }) => rest);
  return { ...facts, messages: columnMessages(columns, names), rejected };
}

describe('broken bytes', () => {
  const names = createNameTable();
  const decoder = createMessageDecoder(names);
  const tally = { read: 0, malformed: 0, rejected: 0 };

  function check(bytes: Uint8Array): void {
    const roots = outcome(() => decodeCborSequence(bytes, { plainTags: true }));
    const single = outcome(() => decodeCbor(bytes, { plainTags: true }));
    const walked = outcome(() => decoder.decode(bytes));
    if (roots instanceof MalformedError || roots.length !== 1) expect(single).toBeInstanceOf(MalformedError);
    else expectSame(single, roots[0], Buffer.from(bytes).toString('hex'));
    tally[walked instanceof MalformedError ? 'malformed' : 'read']++;
    if (!(walked instanceof MalformedError) && walked.kind === 'batch')
      tally.rejected += walked.columns.rejected.length;
    const json = bytes.length > 0 && /^\s*[[{]/.test(Buffer.from(bytes).toString('latin1'));
    if (roots instanceof MalformedError || json) return;
    const reference = outcome(() => bodyFromRoots(roots, names));
    expectSame(saying(walked, names), saying(reference, names), Buffer.from(bytes).toString('hex'));
  }

  it(`give the same result in both readers, or are refused, in ${MUTATED_CASES} cases of damaged bodies`, {
    tags: ['slow'],
  }, () => {
    const bodies = wholeBodies();
    for (const body of bodies) check(body);
    for (let index = 0; index < MUTATED_CASES; index++) check(mutated(bodies[index % bodies.length]!));
    expect(tally.read).toBeGreaterThan(OUTCOMES_MIN);
    expect(tally.malformed).toBeGreaterThan(OUTCOMES_MIN);
    expect(tally.rejected).toBeGreaterThan(OUTCOMES_MIN);
  });

  it(`are read alike or refused, in ${RANDOM_CASES} cases of noise`, () => {
    for (let index = 0; index < RANDOM_CASES; index++) {
      const bytes = new Uint8Array(1 + below(64));
      for (let at = 0; at < bytes.length; at++)
        bytes[at] = below(3) === 0 ? interesting[below(interesting.length)]! : below(256);
      check(bytes);
    }
  });

  it.runIf(isSoak)('cost memory in proportion to their length, with any nesting and repetition', () => {
    const megabytes = 4;
    const length = megabytes * 1024 * 1024;
    const patterns = ['9f', 'bf', 'a0', '60', '6161', 'c0', 'f6', '1b', 'a16161', 'bf6161', '4100'];
    for (const pattern of patterns) {
      const bytes = Buffer.alloc(length, Buffer.from(pattern, 'hex'));
      const listed = Buffer.concat([Buffer.from('9f', 'hex'), bytes, Buffer.from('ff', 'hex')]);
      const before = process.memoryUsage();
      for (const attempt of [bytes, listed]) {
        outcome(() => decodeCbor(attempt, { plainTags: true }));
        outcome(() => decoder.decode(attempt));
      }
      const after = process.memoryUsage();
      const grown = after.heapUsed + after.external - before.heapUsed - before.external;
      // 36 to 41 times, with what the collector has not freed yet.
      expect(grown, pattern).toBeLessThan(64 * length);
    }
  });
});
