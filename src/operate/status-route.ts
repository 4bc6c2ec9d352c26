import type { FastifyInstance } from 'fastify';
import type { WorkgroupConfig } from '../config/config.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { sendTagged, tagged } from '../http/send-tagged.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import type { StageStatus } from '../pipeline/workgroup-status.ts';
import { addressSchema } from '../report/day-request.ts';
import { findHealth } from './find-health.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { type StatusAnswer, statusSchema } from './status-schema.ts';
import { readWorkgroupStates, type StateSource, type WorkgroupState } from './workgroup-state.ts';

const url = '/api/v1/orgs/:workgroupId/status';

/** The state of the pipeline of a workgroup: the facts of `wattline status --json`. */
export function registerStatusRoute(
  app: FastifyInstance,
  { guard, sourceNow }: { guard: OperatorGuard; sourceNow: () => StateSource },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'State of the pipeline',
        description:
          'One state with its reason, the stages, delays, troubles, and problems of the configuration. A token that is restricted to device groups gets 403.',
        tags: ['operate'],
        params: addressSchema,
        response: tagged(statusSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['search:read']);
      const [state] = await readWorkgroupStates(sourceNow(), [workgroup], { withEffects: false });
      return sendTagged(request, reply, statusAnswer(state!, workgroup));
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

export function statusAnswer(
  state: WorkgroupState,
  { id, timezone }: Pick<WorkgroupConfig, 'id' | 'timezone'>,
): StatusAnswer {
  const { poll, rollup, publish, maintain } = state;
  return {
    workgroup: id,
    timezone,
    state: state.state,
    ...findHealth(state),
    updatedAt: instantOf(state.updatedAtMs || undefined),
    stages: {
      poll: {
        ...stageOf(poll),
        nextOffset: poll.nextOffset ?? null,
        transport: poll.transport ?? null,
        upToDate: poll.upToDate ?? null,
        lagMessages: poll.lagMessages ?? null,
        lagSeconds: poll.lagSeconds ?? null,
      },
      rollup: { ...stageOf(rollup), batchId: rollup.batchId ?? null },
      publish: { ...stageOf(publish), generation: publish.generation ?? null },
      maintain: stageOf(maintain),
    },
    lagSeconds: state.lagSeconds ?? null,
    lastHour: state.lastHour ?? null,
    newestReadingAt: instantOf(state.newestReadingAtMs),
    gaps: state.gaps,
    quarantined: state.quarantined,
    storedMessages: state.storedMessages,
    devices: state.devices ? { asleep: 0, ...state.devices } : null,
    troubles: state.troubles.map(({ stage, state: kind, sinceMs, message }) => ({
      stage,
      state: kind,
      since: formatInstant(sinceMs),
      message,
    })),
    problems: state.problems,
  };
}

function stageOf({ lastSuccessAtMs, lastError, failingSinceMs }: StageStatus) {
  return {
    lastSuccessAt: instantOf(lastSuccessAtMs),
    lastError: lastError ? { at: formatInstant(lastError.atMs), message: lastError.message } : null,
    failingSince: instantOf(failingSinceMs),
  };
}

function instantOf(ms: UtcMs | undefined): string | null {
  return ms === undefined ? null : formatInstant(ms);
}
