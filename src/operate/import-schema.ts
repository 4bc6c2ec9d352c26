import { z } from 'zod';

const count = z.number().int();

/** The schema of the list of imports. */
export const importsSchema = z
  .object({
    imports: z.array(
      z.object({
        id: count,
        file: z.string().meta({ description: 'Name of the file, without its folder' }),
        table: z.string(),
        state: z.enum(['running', 'interrupted', 'landed', 'dropped']).meta({
          description:
            'landed: it counts; interrupted: the same import continues it; dropped: none of its rows counts, because another file was imported before it had ended',
        }),
        bytes: count,
        rowsRead: count,
        rowsLanded: count,
        rowsRejected: count,
        rejected: z
          .record(z.string(), count)
          .meta({ description: 'Rejected rows by reason; samples are in the quarantine' }),
        startedAt: z.iso.datetime(),
        updatedAt: z.iso.datetime(),
        rowsExpected: count.nullable().meta({ description: 'Of a running import, if known' }),
      }),
    ),
    next: count.nullable().meta({ description: '`before` of the next page; null at the end' }),
  })
  .meta({
    description: 'Imports of files, newest first',
    example: {
      imports: [
        {
          id: 2,
          file: 'meter-2025.csv',
          table: 'meter',
          state: 'landed',
          bytes: 1_048_576,
          rowsRead: 35_040,
          rowsLanded: 35_038,
          rowsRejected: 2,
          rejected: { invalid_time: 2 },
          startedAt: '2026-11-20T10:00:00.000Z',
          updatedAt: '2026-11-20T10:00:03.000Z',
          rowsExpected: null,
        },
      ],
      next: null,
    },
  });
