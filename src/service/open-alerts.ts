import { alertStore, openAlertBook } from '../alerts/alert-book.ts';
import { createSendAlert } from '../alerts/send-alert.ts';
import { type Alerts, startAlerts } from '../alerts/start-alerts.ts';
import type { Config } from '../config/config.ts';
import { startSystemTimer } from '../lib/timer.ts';
import { isOpenBeside } from '../worker-rpc/local-workers.ts';
import { type AlertSources, createFactsReader } from './alert-facts-reader.ts';
import type { Service } from './service.ts';

/**
 * Starts the alerts of the workgroups that the worker of this process owns. Without channels it does nothing.
 * @param sources.holds see `RunningWorker.holds`
 */
export function openAlerts(
  sources: AlertSources & Pick<Service, 'logger'> & { config: Config; holds(workgroupId: string): boolean },
): Alerts {
  const { config, workgroups, clock, logger } = sources;
  return startAlerts({
    workgroups,
    send: createSendAlert(config.mail),
    startTimer: startSystemTimer,
    clock,
    logger,
    hasBeside: (workgroupId) => isOpenBeside(config.dataDir, workgroupId),
    open: (workgroupId) => ({
      book: openAlertBook(alertStore(config, workgroupId), logger),
      isOwner: () => sources.holds(workgroupId),
      readFacts: createFactsReader(sources, workgroupId),
    }),
  });
}
