import type { FastifyInstance } from 'fastify';
import type { Access } from '../access/access.ts';
import type { Gate } from '../access/admit.ts';
import type { Audit } from '../audit/audit.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { openLedger } from '../exports/open-ledger.ts';
import type { Clock } from '../lib/time.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { registerAccessRoutes } from './access-routes.ts';
import { registerAlertRoutes } from './alert-routes.ts';
import { createAskOwner } from './ask-owner.ts';
import { registerBackfillRoutes } from './backfill-routes.ts';
import type { FindStream } from './count-backlogs.ts';
import { type ExportRoutesOptions, registerExportRoutes } from './export-routes.ts';
import { registerImportRoute } from './import-route.ts';
import { registerListingRoutes } from './listing-routes.ts';
import { createOperatorGuard } from './operator-guard.ts';
import { registerQuarantineRoutes } from './quarantine-routes.ts';
import { registerStatusRoute } from './status-route.ts';
import type { StateSource } from './workgroup-state.ts';

interface OperateDeps extends Pick<ExportRoutesOptions, 'openExports' | 'signal'> {
  config: StateSource['config'];
  workgroups: Pick<Workgroups, 'get' | 'list' | 'exportsOf'>;
  control: StateSource['control'];
  findStream: FindStream;
  lake: LakeReader;
  access: Pick<Access, 'list'>;
  /** Records actions. */
  audit: Audit;
  /** Records uses of tokens. */
  accessAudit?: Gate['audit'];
  clock: Clock;
}

/** The endpoints for operators, below `/api/v1/orgs/{workgroupId}/`. */
export function registerOperateRoutes(app: FastifyInstance, deps: OperateDeps): void {
  const { config, workgroups, control, lake, access, audit, clock } = deps;
  const guard = createOperatorGuard({ audit: deps.accessAudit, workgroups });
  const askOwner = createAskOwner(control);
  const sourceNow = (): StateSource => ({
    config,
    workgroups: workgroups.list(),
    exportsOf: workgroups.exportsOf,
    control,
    findStream: deps.findStream,
    clock,
  });
  registerStatusRoute(app, { guard, sourceNow });
  registerBackfillRoutes(app, { guard, askOwner, audit, lake });
  registerImportRoute(app, { guard, askOwner, lake });
  registerQuarantineRoutes(app, { guard, askOwner, audit, lake });
  registerExportRoutes(app, {
    ...deps,
    guard,
    runsOf: (one) => openLedger(config, one, clock).runs(),
  });
  registerAlertRoutes(app, { guard, askOwner, audit, lake });
  registerListingRoutes(app, { guard, lake });
  registerAccessRoutes(app, { guard, access, lake });
}
