import type { Alerts } from '../alerts/start-alerts.ts';
import type { OperationName, Operations } from '../pipeline/operations.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** Answers the operations on alerts in this thread, and passes the other operations on. */
export function withAlerts(
  pipeline: Pick<Pipeline, 'run'>,
  alerts: () => Promise<Pick<Alerts, 'list' | 'change'>>,
): Pick<Pipeline, 'run'> {
  return {
    async run<Name extends OperationName>(
      workgroupId: string,
      operation: Name,
      args: Operations[Name]['args'],
      transfer?: ArrayBuffer[],
      signal?: AbortSignal,
    ): Promise<Operations[Name]['result']> {
      if (operation === 'alertList')
        return (await alerts()).list(workgroupId, args as Operations['alertList']['args']);
      if (operation === 'alertChange')
        return (await alerts()).change(workgroupId, args as Operations['alertChange']['args']);
      return pipeline.run(workgroupId, operation, args, transfer, signal);
    },
  };
}
