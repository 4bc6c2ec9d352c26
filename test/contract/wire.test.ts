import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCbor, encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { encodeMessages, type IngestItem, stampMessages } from '../../src/contract/encode-messages.ts';
import type { AuditItem, FieldValue, TelemetryItem } from '../../src/contract/messages.ts';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { limits } from '../../src/contract/wire-limits.ts';
import { encodeReadHead } from '../../src/stream/encode-read-head.ts';

const DEVICE = '0f8fad5b-d9cb-469f-a165-70867728950e';
/** The same id as CBOR text of 36 bytes. */
const DEVICE_HEX = `7824
  30663866616435622d643963622d343639662d613136352d373038363737323839353065`;
const OFFSET = 0x0123456789abcdefn;
const TIME_MS = 1_000_000_000_000;

/** Hex digits with white space and comments. */
const bytesOf = (text: string) => Buffer.from(text.replace(/;.*|\s/g, ''), 'hex').toString('hex');
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function stamped(items: IngestItem[], table = 'solar') {
  const batch = encodeMessages(items, table);
  stampMessages(batch, OFFSET, TIME_MS + 1);
  return batch;
}

describe('the bytes of a message', () => {
  it('are these for telemetry', () => {
    const item: TelemetryItem = {
      device: DEVICE,
      source: 'grid',
      event_time: TIME_MS,
      msg_id: 500,
      data: { p: -2, e: 1.5, v: 1.1, on: true, n: null, s: 'ü', big: 2n ** 63n },
    };
    expect(hexOf(stamped([item]).bytes)).toBe(
      bytesOf(`a9                                ; map of 9
        66 6f6666736574                          ; offset
        1b 0123456789abcdef
        6a 73746f72655f74696d65                  ; store_time
        1b 000000e8d4a51001
        65 7461626c65 65 736f6c6172              ; table solar
        64 6b696e64 69 74656c656d65747279        ; kind telemetry
        66 646576696365 ${DEVICE_HEX}
        66 736f75726365 64 67726964              ; source grid
        6a 6576656e745f74696d65                  ; event_time
        1b 000000e8d4a51000
        66 6d73675f6964 19 01f4                  ; msg_id 500
        64 64617461 a7                           ; data, map of 7
        61 70 21                                 ; p -2
        61 65 fa 3fc00000                        ; e 1.5
        61 76 fb 3ff199999999999a                ; v 1.1
        62 6f6e f5                               ; on true
        61 6e f6                                 ; n null
        61 73 62 c3bc                            ; s ü
        63 626967 1b 8000000000000000            ; big 2^63`),
    );
  });

  it('are these for a device status', () => {
    const batch = stamped([{ device: DEVICE, state: 'offline', event_time: TIME_MS, reason: 'timeout' }]);
    expect(hexOf(batch.bytes)).toBe(
      bytesOf(`a8                                ; map of 8
        66 6f6666736574 1b 0123456789abcdef      ; offset
        6a 73746f72655f74696d65                  ; store_time
        1b 000000e8d4a51001
        65 7461626c65 67 64657669636573          ; table devices
        64 6b696e64                              ; kind device_status
        6d 6465766963655f737461747573
        66 646576696365 ${DEVICE_HEX}
        65 7374617465 67 6f66666c696e65          ; state offline
        6a 6576656e745f74696d65                  ; event_time
        1b 000000e8d4a51000
        66 726561736f6e 67 74696d656f7574        ; reason timeout`),
    );
  });

  it('are these for an audit message', () => {
    const item: AuditItem = { actor: 'ann', action: 'token.issue', event_time: TIME_MS };
    expect(hexOf(stamped([item]).bytes)).toBe(
      bytesOf(`a7                                ; map of 7
        66 6f6666736574 1b 0123456789abcdef      ; offset
        6a 73746f72655f74696d65                  ; store_time
        1b 000000e8d4a51001
        65 7461626c65 6a 61756469745f6c6f6773    ; table audit_logs
        64 6b696e64 65 6175646974                ; kind audit
        65 6163746f72 63 616e6e                  ; actor ann
        66 616374696f6e                          ; action token.issue
        6b 746f6b656e2e6973737565
        6a 6576656e745f74696d65                  ; event_time
        1b 000000e8d4a51000`),
    );
  });
});

describe('the bytes of an answer', () => {
  it('are these up to its messages', () => {
    const header = encodeReadHead({
      nextOffset: OFFSET + 2n,
      count: 2,
      upToDate: true,
      earliestOffset: OFFSET,
      epoch: 'e1',
      clamped: 'retention',
    });
    expect(hexOf(header)).toBe(
      bytesOf(`a7                                ; map of 7
        6a 6e6578744f6666736574                  ; nextOffset
        1b 0123456789abcdf1
        65 636f756e74 02                         ; count 2
        68 7570546f44617465 f5                   ; upToDate true
        6e 6561726c696573744f6666736574          ; earliestOffset
        1b 0123456789abcdef
        65 65706f6368 62 6531                    ; epoch e1
        67 636c616d706564 69 726574656e74696f6e  ; clamped retention
        68 6d65737361676573 82                   ; messages, array of 2`),
    );
  });

  it('are a whole once as many messages follow as it says', () => {
    const batch = stamped([
      { device: DEVICE, event_time: 5, data: { p: 1 } },
      { device: DEVICE, state: 'online', event_time: 6 },
    ]);
    const head = { nextOffset: OFFSET + 2n, count: 2, upToDate: false, earliestOffset: 0n, epoch: 'e1' };
    const requestId = 'e1ab2b9e-6a1f-4a0f-9d4b-111111111111';
    const bytes = encodeReadHead({ ...head, requestId, fromOffset: OFFSET });
    const body = decodeCbor(Buffer.concat([bytes, batch.bytes]));
    expect(body).toMatchObject({ ...head, earliestOffset: 0, requestId, fromOffset: OFFSET });
    expect((body as { messages: unknown[] }).messages).toStrictEqual([
      {
        offset: OFFSET,
        store_time: TIME_MS + 1,
        table: 'solar',
        kind: 'telemetry',
        device: DEVICE,
        source: null,
        event_time: 5,
        data: { p: 1 },
      },
      {
        offset: OFFSET + 1n,
        store_time: TIME_MS + 1,
        table: 'devices',
        kind: 'device_status',
        device: DEVICE,
        state: 'online',
        event_time: 6,
      },
    ]);
  });

  it('are these for an error', () => {
    const error = new StreamError('OffsetAhead', 'past the tail', { nextOffset: OFFSET, epoch: 'e1' });
    expect(hexOf(encodeCbor(error.body()))).toBe(
      bytesOf(`a6                                ; map of 6
        65 6572726f72 6b 4f66667365744168656164  ; error OffsetAhead
        67 6d657373616765                        ; message
        6d 7061737420746865207461696c
        66 737461747573 19 01a0                  ; status 416
        69 726574727961626c65 f4                 ; retryable false
        6a 6e6578744f6666736574                  ; nextOffset
        1b 0123456789abcdef
        65 65706f6368 62 6531                    ; epoch e1`),
    );
  });
});

describe('encodeMessages and stampMessages', () => {
  const fieldValue: fc.Arbitrary<FieldValue> = fc.oneof(
    fc.double({ noNaN: true }),
    fc.maxSafeInteger(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.string({ unit: 'grapheme', maxLength: 100 }),
    fc.boolean(),
    fc.constant(null),
  );
  const item: fc.Arbitrary<IngestItem> = fc.oneof(
    fc.record(
      {
        device: fc.uuid(),
        event_time: fc.nat(limits.instantMsMax),
        data: fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fieldValue, {
          noNullPrototype: true,
        }),
        source: fc.option(fc.string({ minLength: 1 })),
        msg_id: fc.option(fc.maxSafeInteger().map(Math.abs)),
      },
      { requiredKeys: ['device', 'event_time', 'data'] },
    ),
    fc.record({
      device: fc.uuid(),
      event_time: fc.nat(limits.instantMsMax),
      state: fc.constantFrom('online' as const, 'offline' as const),
      reason: fc.option(fc.string()),
    }),
    fc.record({
      actor: fc.string(),
      action: fc.string(),
      event_time: fc.nat(limits.instantMsMax),
      target: fc.string(),
      data: fc.dictionary(fc.string(), fieldValue, { noNullPrototype: true }),
    }),
  );

  it('write every item so that it reads back whole, with consecutive offsets', () => {
    const firstOffset = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 20 }), firstOffset, (items, first) => {
        const batch = encodeMessages(items, 'solar');
        stampMessages(batch, first, TIME_MS);
        expect(batch).toMatchObject({ count: items.length });
        expect(batch.starts[items.length]).toBe(batch.bytes.length);
        for (const [index, given] of items.entries()) {
          const bytes = batch.bytes.subarray(batch.starts[index], batch.starts[index + 1]);
          const { msg_id, reason, ...rest } = given as Record<string, unknown>;
          expect(decodeCbor(bytes)).toStrictEqual({
            offset: first + BigInt(index),
            store_time: TIME_MS,
            table: batch.tables[index],
            kind: 'actor' in given ? 'audit' : 'state' in given ? 'device_status' : 'telemetry',
            ...rest,
            ...('actor' in given || 'state' in given ? {} : { source: given.source ?? null }),
            ...(msg_id === undefined || msg_id === null ? {} : { msg_id }),
            ...(reason === undefined || reason === null ? {} : { reason }),
          });
          expect(batch.devices[index]).toBe('device' in given ? given.device : null);
        }
      }),
    );
  });

  it('carry an offset from its lower word into its upper one', () => {
    const items = Array.from({ length: 3 }, () => ({ device: DEVICE, event_time: 1, data: {} }));
    const batch = encodeMessages(items, 'solar');
    stampMessages(batch, 0x1_ffff_fffen, TIME_MS);
    const offsets = items.map((_, index) => {
      const message = decodeCbor(batch.bytes.subarray(batch.starts[index], batch.starts[index + 1]));
      return (message as { offset: number }).offset;
    });
    expect(offsets).toStrictEqual([0x1_ffff_fffe, 0x1_ffff_ffff, 0x2_0000_0000]);
  });

  it('stamp again without a trace of the first time', () => {
    const batch = stamped([{ device: DEVICE, event_time: 1, data: { p: 1 } }]);
    const first = hexOf(batch.bytes);
    stampMessages(batch, OFFSET + 77n, TIME_MS + 99);
    stampMessages(batch, OFFSET, TIME_MS + 1);
    expect(hexOf(batch.bytes)).toBe(first);
  });

  it('make nothing of nothing', () => {
    expect(stamped([])).toMatchObject({ count: 0, tables: [], devices: [] });
    expect(stamped([]).bytes.length).toBe(0);
  });
});
