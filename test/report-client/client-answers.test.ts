import { expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type { Explained } from '../../src/explain/explained-schema.ts';
import type { gapsSchema } from '../../src/operate/backfill-schemas.ts';
import type { StatusAnswer } from '../../src/operate/status-schema.ts';
import type {
  budgetDataSchema,
  budgetDetailsSchema,
  meterDataSchema,
  meterDetailsSchema,
} from '../../src/report/meter-answers.ts';
import type { qualitySchema } from '../../src/report/quality-route.ts';
import type {
  dailyEnergyDetailsSchema,
  dailyEnergySchema,
  deviceStatusSchema,
} from '../../src/report/report-schemas.ts';
import type { workgroupAnswerSchema } from '../../src/report/workgroup-route.ts';
import type * as answers from '../../src/report-client/client-answers.ts';

test('the types of the client are equal to the schemas of the service', () => {
  // The type check compares them, so a difference is an error of `npm run check`.
  expectTypeOf<answers.EnergyByDay>().toEqualTypeOf<z.output<typeof dailyEnergySchema>>();
  expectTypeOf<answers.DailyEnergyDetails>().toEqualTypeOf<z.output<typeof dailyEnergyDetailsSchema>>();
  expectTypeOf<answers.MeterData>().toEqualTypeOf<z.output<typeof meterDataSchema>>();
  expectTypeOf<answers.MeterDetails>().toEqualTypeOf<z.output<typeof meterDetailsSchema>>();
  expectTypeOf<answers.BudgetData>().toEqualTypeOf<z.output<typeof budgetDataSchema>>();
  expectTypeOf<answers.BudgetDetails>().toEqualTypeOf<z.output<typeof budgetDetailsSchema>>();
  expectTypeOf<answers.QualityByDay>().toEqualTypeOf<z.output<typeof qualitySchema>>();
  expectTypeOf<answers.WorkgroupFacts>().toEqualTypeOf<z.output<typeof workgroupAnswerSchema>>();
  expectTypeOf<answers.StateByDevice>().toEqualTypeOf<z.output<typeof deviceStatusSchema>>();
  expectTypeOf<answers.GapList>().toEqualTypeOf<z.output<typeof gapsSchema>>();
  expectTypeOf<answers.ServiceStatus>().branded.toEqualTypeOf<StatusAnswer>();
  expectTypeOf<Explained>().toExtend<answers.Explanation>();
});
