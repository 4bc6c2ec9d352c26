import type { Problem } from '../lib/errors.ts';
import { isObject } from '../lib/is-object.ts';
import type { Config, WorkgroupConfig } from './config.ts';

/** The new name of each setting that had another one, by its object. */
const PIPELINE = { openShardsMax: 'openWorkgroupsMax', threads: 'warehouseThreads' };
const ENERGY_STREAM = { registerEpochs: 'registerChanges' };

/** The old names that a configuration or a workgroup has, with what to write instead. */
const warningsOf = new WeakMap<Config | WorkgroupConfig, readonly Problem[]>();

export function noteOldNames(owner: Config | WorkgroupConfig, warnings: readonly Problem[]): void {
  if (warnings.length > 0) warningsOf.set(owner, warnings);
}

/** Warnings about old names, by path in the configuration or in the workgroup. */
export function oldNamesOf(owner: Config | WorkgroupConfig): readonly Problem[] {
  return warningsOf.get(owner) ?? [];
}

/**
 * Gives the settings of `pipeline` their new names, in place. An old name together with the new one stays,
 * and is refused as unknown.
 */
export function renamePipeline(settings: unknown): Problem[] {
  return isObject(settings) ? rename(settings.pipeline, PIPELINE, 'pipeline') : [];
}

/** The same for a workgroup. */
export function renameInWorkgroup(workgroup: unknown): Problem[] {
  if (!isObject(workgroup) || !Array.isArray(workgroup.energyStreams)) return [];
  return workgroup.energyStreams.flatMap((stream: unknown, index) =>
    rename(stream, ENERGY_STREAM, `energyStreams.${index}`),
  );
}

function rename(settings: unknown, names: Readonly<Record<string, string>>, path: string): Problem[] {
  if (!isObject(settings)) return [];
  return Object.entries(names).flatMap(([before, now]) => {
    if (!Object.hasOwn(settings, before) || Object.hasOwn(settings, now)) return [];
    settings[now] = settings[before];
    delete settings[before];
    return [{ path: `${path}.${before}`, message: `is an old name; write ${now}` }];
  });
}
