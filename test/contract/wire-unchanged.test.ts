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

/**
 * If this fails although the wire was meant to change: say in CHANGELOG.md what servers and clients of the
 * stream will notice (a limit, a name, an error, what may be sent), then run this file with `--update`. If it
 * was not meant, undo the change: devices and readers in the field speak the wire as it was.
 */
it('the wire is equal to the stored file, so nothing has changed for other programs', async () => {
  await expect(wire()).toMatchFileSnapshot('wire.txt');
});
