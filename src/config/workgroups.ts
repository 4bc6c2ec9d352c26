import { isDeepStrictEqual } from 'node:util';
import { type AlertSettings, alertsSchema } from './alert-settings.ts';
import type { Config, WorkgroupConfig } from './config.ts';
import type { ExportConfig } from './export-settings.ts';

/**
 * The configured workgroups. They can change while a process runs, so a part of the service asks again
 * instead of keeping them.
 */
export interface Workgroups {
  /**
   * Undefined if no workgroup with this id is configured. The same object is returned until the workgroup
   * changes.
   */
  get(id: string): WorkgroupConfig | undefined;
  /** In the order of the configuration. */
  list(): readonly WorkgroupConfig[];
  /** The exports of a workgroup. Empty for an unknown workgroup. */
  exportsOf(id: string): readonly ExportConfig[];
  /** The settings of alerts, for all workgroups. The same object is returned until they change. */
  alerts(): AlertSettings;
  /**
   * Calls the listener after each change. `get` and `list` already return the new workgroups then.
   * @returns removes the listener
   */
  onChange(listener: (change: WorkgroupsChange) => void): () => void;
}

/** Unchanged workgroups are in no list. */
export interface WorkgroupsChange {
  added: readonly WorkgroupConfig[];
  /** Workgroups with other settings or other exports. */
  changed: ReadonlyArray<{ before: WorkgroupConfig; after: WorkgroupConfig }>;
  removed: readonly WorkgroupConfig[];
  /** True if the settings of alerts have changed. */
  alerts: boolean;
}

export interface ReloadableWorkgroups extends Workgroups {
  /**
   * Replaces all workgroups and calls the listeners if something has changed. Errors of a listener are thrown
   * after all were called.
   */
  replace(settings: WorkgroupSettings): WorkgroupsChange;
}

type WorkgroupSettings = Pick<Config, 'workgroups'> & Partial<Pick<Config, 'exports' | 'alerts'>>;

/** The workgroups of a configuration. They stay the same until `replace` is called. */
export function createWorkgroups(settings: WorkgroupSettings): ReloadableWorkgroups {
  const listeners = new Set<(change: WorkgroupsChange) => void>();
  let current = indexOf(settings);

  return {
    get: (id) => current.byId.get(id),
    list: () => current.list,
    exportsOf: (id) => current.exports.get(id) ?? [],
    alerts: () => current.alerts,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    replace(next) {
      const before = current;
      current = indexOf({
        ...next,
        workgroups: next.workgroups.map((one) => keepSame(before, one)),
        ...(isDeepStrictEqual(before.alerts, next.alerts) && { alerts: before.alerts }),
      });
      const change = changeBetween(before, current);
      if (change.added.length + change.changed.length + change.removed.length === 0 && !change.alerts)
        return change;
      const errors: unknown[] = [];
      for (const listener of [...listeners]) {
        try {
          listener(change);
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
      return change;
    },
  };
}

/**
 * True if the change concerns the work on the data. Device groups, the time-out of devices and inputs only
 * concern the stream.
 */
export function needsReopening({ before, after }: WorkgroupsChange['changed'][number]): boolean {
  // A workgroup with the same settings has changed if its exports have changed.
  if (before === after) return true;
  const ignored = { deviceGroups: {}, deviceTimeout: undefined, inputs: undefined };
  return !isDeepStrictEqual({ ...before, ...ignored }, { ...after, ...ignored });
}

interface Index {
  list: readonly WorkgroupConfig[];
  byId: ReadonlyMap<string, WorkgroupConfig>;
  exports: ReadonlyMap<string, readonly ExportConfig[]>;
  alerts: AlertSettings;
}

const noAlerts = alertsSchema.parse(undefined);

function indexOf({ workgroups, exports = [], alerts = noAlerts }: WorkgroupSettings): Index {
  return {
    list: workgroups,
    byId: new Map(workgroups.map((one) => [one.id, one])),
    exports: Map.groupBy(exports, ({ workgroup }) => workgroup),
    alerts,
  };
}

/** The object of an unchanged workgroup stays the same, because caches use it as a key. */
function keepSame({ byId }: Index, workgroup: WorkgroupConfig): WorkgroupConfig {
  const before = byId.get(workgroup.id);
  return before && isDeepStrictEqual(before, workgroup) ? before : workgroup;
}

function changeBetween(before: Index, after: Index): WorkgroupsChange {
  return {
    added: after.list.filter(({ id }) => !before.byId.has(id)),
    changed: after.list.flatMap((workgroup) => {
      const old = before.byId.get(workgroup.id);
      if (!old) return [];
      const isSame =
        old === workgroup &&
        isDeepStrictEqual(before.exports.get(workgroup.id), after.exports.get(workgroup.id));
      return isSame ? [] : [{ before: old, after: workgroup }];
    }),
    removed: before.list.filter(({ id }) => !after.byId.has(id)),
    alerts: before.alerts !== after.alerts,
  };
}
