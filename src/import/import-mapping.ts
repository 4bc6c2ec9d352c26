import { z } from 'zod';
import { deviceIdSchema, nameSchema } from '../contract/messages.ts';
import { epochUnits } from '../foreign-table/guess-time-format.ts';
import { isTimeZone } from '../lib/time.ts';

/** Formats of files. Default: by the name of the file. */
const fileFormats = ['csv', 'ndjson', 'parquet'] as const;
export type FileFormat = (typeof fileFormats)[number];

/** Texts that loggers write for a missing value. */
export const usualNullTexts = ['', '-', '--', 'NULL', 'null', 'NaN', 'nan', 'NA', 'N/A', 'n/a'] as const;

const columnSchema = z.string().min(1).max(512);
const oneCharacter = z.string().length(1, 'must be one character');

function isZone(zone: string): boolean {
  return /^[+-](0\d|1[0-4]):[0-5]\d$/.test(zone) || isTimeZone(zone);
}

function isTimeFormat(format: string): boolean {
  return format === 'iso' || Object.hasOwn(epochUnits, format) || format.includes('%');
}

/**
 * The meaning of the columns of a file. Columns have the names in the first line of the file. Without such a
 * line they are named by their number from 1 (`column1`). In JSON they are names of members, or paths such as
 * `/data/power`.
 */
export const mappingSchema = z
  .strictObject({
    format: z.enum(fileFormats).optional(),
    /** Default: detected. */
    csv: z
      .strictObject({
        delimiter: oneCharacter.optional(),
        quote: oneCharacter.optional(),
        /** True if the first line names the columns. */
        header: z.boolean().optional(),
        /** Lines above the heading. */
        skipLines: z.number().int().min(0).max(10_000).optional(),
        encoding: z.enum(['utf-8', 'utf-16', 'latin-1']).default('utf-8'),
      })
      .prefault({}),
    time: z.strictObject({
      /** Several columns are joined by a blank: a date and a time of day. */
      column: z
        .union([columnSchema, z.array(columnSchema).min(1).max(4)])
        .transform((columns) => [columns].flat()),
      /** `iso`, a unit since 1970, or a pattern such as `%d.%m.%Y %H:%M:%S`. */
      format: z
        .string()
        .max(100)
        .refine(isTimeFormat, {
          error: `must be "iso", one of ${Object.keys(epochUnits).join(', ')}, or a pattern such as "%d.%m.%Y %H:%M"`,
        })
        .default('iso'),
      /** The zone of times without one. Default: the workgroup's zone. */
      zone: z
        .string()
        .refine(isZone, {
          error:
            'is neither a time zone of the IANA database, such as "Europe/Paris", nor an offset such as "+01:00"',
        })
        .optional(),
    }),
    device: z
      .strictObject({
        column: columnSchema.optional(),
        /** The device of the whole file: a UUID or a configured name. */
        id: nameSchema.optional(),
        /** UUIDs of names in the file, in addition to the configuration. */
        names: z.record(z.string().min(1), deviceIdSchema).default({}),
        /** Unknown names are rejected, or get a UUID that follows from the name. */
        unknown: z.enum(['reject', 'derive']).default('reject'),
      })
      .refine(({ column, id }) => (column === undefined) !== (id === undefined), {
        error: 'needs either a column or an id',
      }),
    source: z
      .strictObject({ column: columnSchema.optional(), name: nameSchema.optional() })
      .refine(({ column, name }) => (column === undefined) !== (name === undefined), {
        error: 'needs either a column or a name',
      })
      .optional(),
    /** Column -> field, if each field has its own column. */
    fields: z.record(columnSchema, nameSchema).optional(),
    /** If each row has one value: the columns of the field's name and of the value. */
    long: z
      .strictObject({
        field: columnSchema,
        value: columnSchema,
        /** Name in the file -> field. Other names stay. */
        names: z.record(z.string().min(1), nameSchema).default({}),
      })
      .optional(),
    decimal: z.enum(['.', ',']).default('.'),
    thousands: z.enum(['.', ',', ' ', "'"]).optional(),
    nullTexts: z
      .array(z.string().max(100))
      .max(50)
      .default([...usualNullTexts]),
  })
  .superRefine((mapping, context) => {
    const { fields, long, decimal, thousands } = mapping;
    const problem = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    for (const [setting, value] of Object.entries(mapping))
      if (hasNul(value)) problem(setting, 'contains a NUL character ("\\0" in YAML): remove it');
    if ((fields === undefined) === (long === undefined)) problem('fields', 'needs either fields or long');
    const names = Object.values(fields ?? {});
    if (fields && names.length === 0) problem('fields', 'names no field');
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) problem('fields', `"${twice}" is used for two columns`);
    if (decimal === thousands) problem('thousands', 'is the same as decimal');
  });

function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).flat().some(hasNul);
}

export type Mapping = z.output<typeof mappingSchema>;
export type MappingInput = z.input<typeof mappingSchema>;

/** All columns that a mapping names, with their places in the mapping. */
export function mappedColumns({
  time,
  device,
  source,
  fields,
  long,
}: Mapping): Array<{ path: string; column: string }> {
  return [
    ...time.column.map((column) => ({ path: 'time.column', column })),
    ...(device.column === undefined ? [] : [{ path: 'device.column', column: device.column }]),
    ...(source?.column === undefined ? [] : [{ path: 'source.column', column: source.column }]),
    ...Object.keys(fields ?? {}).map((column) => ({ path: 'fields', column })),
    ...(long
      ? [
          { path: 'long.field', column: long.field },
          { path: 'long.value', column: long.value },
        ]
      : []),
  ];
}
