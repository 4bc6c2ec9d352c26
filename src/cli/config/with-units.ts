import { z } from 'zod';
import { configSchema } from '../../config/config.ts';
import { type Dimension, formatDuration } from '../../lib/units.ts';

type Schema = z.core.JSONSchema.BaseSchema;

const written: Readonly<Record<Dimension, (amount: number) => string>> = {
  duration: formatDuration,
  energy: (wh) => `${wh} Wh`,
  power: (watts) => `${watts} W`,
};

/**
 * A configuration as people write it: quantities with their units. The schema of a setting says which
 * dimension it has.
 */
export function withUnits(config: unknown): unknown {
  return write(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }), config);
}

function write(schema: Schema | boolean | undefined, value: unknown): unknown {
  if (typeof schema !== 'object') return value;
  const { dimension, items, properties = {}, additionalProperties, anyOf = [] } = schema;
  if (typeof value === 'number' && dimension !== undefined) return written[dimension as Dimension](value);
  const chosen = anyOf.reduce((before: unknown, one) => write(one, before), value);
  if (Array.isArray(chosen)) return chosen.map((item) => write(items as Schema, item));
  if (typeof chosen !== 'object' || chosen === null) return chosen;
  return Object.fromEntries(
    Object.entries(chosen).map(([name, member]) => [
      name,
      write(properties[name] ?? additionalProperties, member),
    ]),
  );
}
