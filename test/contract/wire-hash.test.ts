import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  AUDIT_TABLE,
  DEFAULT_SOURCE,
  DEVICE_STATUS_TABLE,
  deviceStatusItemSchema,
  tableNameSchema,
  telemetryItemSchema,
  WILDCARD_TABLE,
  workgroupIdSchema,
} from '../../src/contract/messages.ts';
import { streamErrors } from '../../src/contract/stream-errors.ts';
import { limits } from '../../src/contract/wire-limits.ts';
import { messageKinds } from '../../src/decode/message-columns.ts';

const WIRE_HASH = '026a7c04c5635f38';

/** Everything that other programs rely on, as JSON. wire.test.ts has the bytes of messages. */
function wire(): string {
  const schemas = { telemetryItemSchema, deviceStatusItemSchema, tableNameSchema, workgroupIdSchema };
  return JSON.stringify(
    {
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, jsonSchema(schema)]),
      ),
      names: { AUDIT_TABLE, DEFAULT_SOURCE, DEVICE_STATUS_TABLE, WILDCARD_TABLE, messageKinds },
      limits,
      errors: streamErrors,
    },
    null,
    2,
  );
}

/** The schema of what may be sent. Integers have up to 64 bits, which JSON Schema cannot express. */
function jsonSchema(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (!(zodSchema instanceof z.ZodBigInt)) return;
      Object.assign(jsonSchema, { minimum: String(zodSchema.minValue), maximum: String(zodSchema.maxValue) });
    },
  });
}

it('the wire has not changed for other programs', () => {
  const hash = createHash('sha256').update(wire()).digest('hex').slice(0, 16);
  expect(
    hash,
    `The wire has changed. If that is meant: say in CHANGELOG.md what servers and clients of the stream will notice
(a limit, a name, an error, what may be sent), then set WIRE_HASH to '${hash}' in test/contract/wire-hash.test.ts.
If it is not, undo it: devices and readers in the field speak the wire as it was.\n`,
  ).toBe(WIRE_HASH);
});
