import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { energyMethods } from '../config/energy-stream.ts';
import { etagOf } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, daysFrom } from '../lib/time.ts';
import { dayStatuses } from '../rollup/day-statuses.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryText } from '../warehouse/query.ts';
import { dailyEnergy } from './daily-energy.ts';
import { chooseDays, type DayQuery, filesOfDays, refuseTooMany, sourceFiles } from './day-report.ts';
import {
  addressSchema,
  type DayParameters,
  dayQuery,
  dayQuerySchema,
  requireKnownDevices,
} from './day-request.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';
import type { Guard } from './report-guard.ts';
import { taggedAnswers } from './report-schemas.ts';
import { deviceDailyEnergyRows } from './rows/energy-rows.ts';
import { sendParts } from './rows/send-parts.ts';

const url = '/api/v1/orgs/:workgroupId/quality';
/** A leap year. */
const QUALITY_DAYS_MAX = 366;

export const qualitySchema = z
  .object({
    startDate: z.string(),
    endDate: z.string().meta({ description: 'Last day, included' }),
    kinds: z
      .array(
        z.object({
          coverage: z
            .number()
            .meta({ description: 'Share of the day (0 to 1) that measurements cover, rounded down to 0.01' }),
          status: z.enum(dayStatuses),
          methods: z.array(z.enum(energyMethods)),
          flags: z.array(z.string()),
        }),
      )
      .meta({ description: 'The kinds of days that occur, the most frequent first' }),
    devices: z
      .record(z.string().meta({ description: '`<deviceId>`' }), z.array(z.number().int().min(0).nullable()))
      .meta({
        description:
          'For each device, the index in `kinds` of each day of the range, in order; null: nothing of this day',
      }),
  })
  .meta({
    description: 'Quality of the days of devices, in a compact form',
    example: {
      startDate: '2026-11-19',
      endDate: '2026-11-20',
      kinds: [{ coverage: 1, status: 'final', methods: ['total_energy'], flags: [] }],
      devices: { '0b0e7c1e-0000-4000-8000-000000000001': [0, null] },
    },
  });

/** Coverage, flags, status and method of each device and day. */
export function registerQualityRoute(
  app: FastifyInstance,
  { lake, guard, clock, logger }: { lake: LakeReader; guard: Guard; clock: Clock; logger: Logger },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Quality by device and day',
        description:
          'Coverage, flags, status and method of the energy of each device and day, for a picture of a year. Equal days share one entry, so a year of 400 devices is below 1 MB.',
        tags: ['report'],
        params: addressSchema,
        querystring: dayQuerySchema(QUALITY_DAYS_MAX).omit({ groupBy: true }),
        response: taggedAnswers(qualitySchema),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const query = dayQuery(request.query as DayParameters, authorization, {
        workgroup,
        nowMs: clock.now(),
        daysMax: QUALITY_DAYS_MAX,
      });
      const generation = await lake.newestGeneration(workgroup.id);
      await requireKnownDevices('devices', query.devices, { lake, generation, workgroup });
      const files = generation ? [...filesOfDays(generation, query), ...sourceFiles(generation, query)] : [];
      return sendParts(request, reply, lake, {
        etag: etagOf(['quality', query, query.devices ?? null, files.map(({ sha256 }) => sha256)]),
        read: (signal) => qualityJson(lake, generation, query, signal),
        rows: {
          name: `quality_${query.startDay}_${query.endDay}`,
          facts: workgroup.devices,
          select: () => deviceDailyEnergyRows(query, workgroup, generation),
        },
        onAnswered: (fields) => logger.debug({ workgroup: workgroup.id, ...fields }, 'report.quality'),
      });
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

async function qualityJson(
  lake: LakeReader,
  generation: Generation | undefined,
  query: DayQuery,
  signal: AbortSignal,
): Promise<Uint8Array[]> {
  const { startDay, endDay } = query;
  const rows = await readQuality(lake, generation, query, signal);
  const textsOf = (wanted: string) =>
    rows.flatMap(({ part, text }) => (part === wanted ? [text] : [])).join(',');
  return [
    Buffer.from(
      `{"startDate":"${startDay}","endDate":"${endDay}","kinds":[${textsOf('kind')}],"devices":{${textsOf('device')}}}`,
    ),
  ];
}

async function readQuality(
  lake: LakeReader,
  generation: Generation | undefined,
  query: DayQuery,
  signal: AbortSignal,
) {
  const files = generation ? filesOfDays(generation, query) : [];
  if (!generation || files.length === 0 || query.devices?.length === 0) return [];
  const chosen = chooseDays(query, generation);
  return lake.run(
    { generation, files: [...files, ...chosen.files] },
    async (connection) => {
      await refuseTooMany(connection, dailyEnergy, query, generation);
      return queryText<{ part: 'kind' | 'device'; text: string }>(
        connection,
        `${chosen.sql}FROM (\n${loadSql('report/answer_quality')}\n) ORDER BY place, device`,
        {
          ...chosen.parameters,
          files: files.map(generation.path),
          days: daysFrom(query.startDay, query.endDay),
        },
      );
    },
    signal,
  );
}
