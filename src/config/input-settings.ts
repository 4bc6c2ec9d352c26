import { z } from 'zod';
import { AUDIT_TABLE, DEVICE_STATUS_TABLE, nameSchema, WILDCARD_TABLE } from '../contract/messages.ts';
import { epochUnits } from '../foreign-table/guess-time-format.ts';
import { DAY_MS, isTimeZone, SECOND_MS } from '../lib/time.ts';
import { refuseTwice } from './refuse-twice.ts';
import { duration } from './setting-types.ts';
import { parseTextTemplate, type TextTemplate } from './text-template.ts';
import { parseTopicPattern } from './topic-pattern.ts';

/** The word for the whole payload, where a JSON pointer names a part of it. */
export const WHOLE_PAYLOAD = 'payload';
/** The placeholder of the measurement in rules for lines. */
export const MEASUREMENT = 'measurement';

/** The id of the line protocol among the inputs of a workgroup. */
export const LINES_INPUT = 'lines';

const RULES_MAX = 1_000;
const INPUTS_MAX = 100;
const FIELDS_MAX = 100;
const MQTT_USER_BYTES_MAX = 65_535;

const templateText = z
  .string()
  .min(1)
  .max(1_000)
  .refine((text) => parseTextTemplate(text) !== undefined, {
    error: 'a placeholder is written {name}; other braces are not possible',
  });
const tableText = templateText.refine(
  (text) => ![AUDIT_TABLE, DEVICE_STATUS_TABLE, WILDCARD_TABLE].includes(text),
  { error: 'is not a table for readings; choose another name' },
);
const scale = z
  .number()
  .refine((factor) => factor !== 0, { error: 'must not be 0' })
  .default(1);
const pointer = z.string().regex(/^(payload|(\/[^/]*)+)$/, {
  error: 'must be "payload", or a JSON pointer to a part of it, such as "/ENERGY/Total"',
});

/** One value: where it is, and its factor. A text alone is where it is. */
function valueRule(from: z.ZodString) {
  return z
    .union([from, z.strictObject({ from, scale })], {
      error: 'must be where the value is, or { from, scale }',
    })
    .transform((value) => (typeof value === 'string' ? { from: value, scale: 1 } : value));
}

const timeFormats = ['iso', ...Object.keys(epochUnits)] as ['iso', ...Array<keyof typeof epochUnits>];
const timeRule = z
  .union([
    pointer,
    z.strictObject({
      from: pointer,
      format: z.enum(timeFormats, { error: `must be one of ${timeFormats.join(', ')}` }).default('iso'),
      /** The zone of times that name none. */
      zone: z
        .string()
        .refine(isTimeZone, {
          error: 'is not a time zone of the IANA database, such as "Europe/Paris"',
        })
        .optional(),
    }),
  ])
  .transform((time) => (typeof time === 'string' ? { from: time, format: 'iso' as const } : time));

const fieldsProblem = { error: `must name 1 to ${FIELDS_MAX} fields` };
const isFieldCount = (fields: object) =>
  Object.keys(fields).length >= 1 && Object.keys(fields).length <= FIELDS_MAX;

const mqttRuleSchema = z
  .strictObject({
    /** Topics, such as `shellies/{device}/emeter/0/power`. */
    topic: z.string().superRefine((text, context) => {
      const parsed = parseTopicPattern(text);
      if ('problem' in parsed) context.addIssue({ code: 'custom', message: parsed.problem });
    }),
    table: tableText,
    /** A name or an id. Default: `{device}`. */
    device: templateText.default('{device}'),
    source: templateText.optional(),
    /** The fields of the reading, with where their values are. */
    fields: z.record(templateText, valueRule(pointer)).refine(isFieldCount, fieldsProblem),
    /** The time of the reading. Default: when the message was received. */
    time: timeRule.optional(),
  })
  .superRefine(({ topic, table, device, source, fields }, context) => {
    const pattern = parseTopicPattern(topic);
    if ('problem' in pattern) return;
    const texts: Array<[path: string[], text: string]> = [
      [['table'], table],
      [['device'], device],
      ...(source === undefined ? [] : [[['source'], source] as [string[], string]]),
      ...Object.keys(fields).map((name): [string[], string] => [['fields', name], name]),
    ];
    for (const [path, text] of texts) {
      const unknown = namesOf(text).find((name) => !name.startsWith('/') && !pattern.names.includes(name));
      if (unknown === undefined) continue;
      const message = `{${unknown}} is not a level of the topic; write the topic with {${unknown}} instead of "+", or a JSON pointer such as {/id}`;
      context.addIssue({ code: 'custom', path, message });
    }
  });

const lineRuleSchema = z
  .strictObject({
    /** The measurements, with `*` for any text and `?` for any character. Default: all. */
    measurement: nameSchema.default('*'),
    table: tableText.default(`{${MEASUREMENT}}`),
    /** A name or an id. Placeholders are tags. */
    device: templateText,
    source: templateText.optional(),
    /** The fields to keep, by their new names. Default: all fields by their own names. */
    fields: z
      .record(nameSchema, valueRule(z.string().min(1)))
      .refine(isFieldCount, fieldsProblem)
      .optional(),
  })
  .superRefine(({ table, device, source }, context) => {
    for (const [name, text] of Object.entries({ table, device, source: source ?? '' })) {
      if (namesOf(text).some((one) => one.startsWith('/')))
        context.addIssue({ code: 'custom', path: [name], message: 'a line has tags and no JSON' });
    }
  });

const brokerUrl = z
  .url({ protocol: /^(mqtts?|wss?)$/, error: 'must be an mqtt://, mqtts://, ws:// or wss:// address' })
  .refine((text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === '', {
    error: 'must not contain a user or a password; use username and password',
  });
const brokerText = z.string().min(1).max(MQTT_USER_BYTES_MAX);

const mqttInputSchema = z
  .strictObject({
    /** A name of the input. */
    id: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')
      .refine((id) => id !== LINES_INPUT, `"${LINES_INPUT}" is the line protocol; choose another id`),
    url: brokerUrl,
    username: brokerText.optional(),
    password: brokerText.optional(),
    /**
     * PEM of the authorities that may have signed the broker's certificate. Default: the authorities that the
     * system trusts.
     */
    ca: z.string().min(1).optional(),
    /** PEM of the certificate and the key of this client. */
    clientCertificate: z.string().min(1).optional(),
    clientKey: z.string().min(1).optional(),
    /** The name of the session at the broker. Default: `wattline-<workgroup>-<id>`. */
    clientId: z.string().min(1).max(256).optional(),
    version: z.union([z.literal(5), z.literal('3.1.1')], { error: 'must be 5 or "3.1.1"' }).default(5),
    /** A message that is sent regularly, because some devices only report after a request. */
    request: z
      .strictObject({
        topic: z.string().regex(/^[^+#\0]{1,1000}$/, 'must be a topic without wildcards'),
        payload: z.string().max(1_000).default(''),
        every: duration({ minMs: SECOND_MS, maxMs: DAY_MS }).default(30 * SECOND_MS),
      })
      .optional(),
    rules: z.array(mqttRuleSchema).min(1, 'must have a rule').max(RULES_MAX),
  })
  .refine(
    ({ clientCertificate, clientKey }) => (clientCertificate === undefined) === (clientKey === undefined),
    {
      path: ['clientKey'],
      error: 'and clientCertificate are needed together',
    },
  )
  .refine(({ username, password }) => username !== undefined || password === undefined, {
    path: ['username'],
    error: 'is needed with a password',
  });

/** The inputs of a workgroup: other systems that it reads directly, without another program. */
export const inputsSchema = z.strictObject({
  /** Brokers of MQTT. */
  mqtt: z
    .array(mqttInputSchema)
    .max(INPUTS_MAX)
    .default([])
    .superRefine((inputs, context) => refuseTwice(inputs, context, 'id', ({ id }) => id)),
  /** How lines of the Influx line protocol become readings. */
  lines: z.array(lineRuleSchema).max(RULES_MAX).default([]),
});

type InputSettings = z.output<typeof inputsSchema>;
export type MqttInput = InputSettings['mqtt'][number];
export type MqttRule = MqttInput['rules'][number];
export type LineRule = InputSettings['lines'][number];
export type TimeRule = NonNullable<MqttRule['time']>;

/** The template of a setting that was checked. */
export function templateOf(text: string): TextTemplate {
  const template = parseTextTemplate(text);
  if (template === undefined) throw new Error(`"${text}" is not a checked template`);
  return template;
}

function namesOf(text: string): readonly string[] {
  return parseTextTemplate(text)?.names ?? [];
}
