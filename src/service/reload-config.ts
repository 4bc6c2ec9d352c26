import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import type { ConfigLoader } from '../config/config-loader.ts';
import type { ReloadableWorkgroups } from '../config/workgroups.ts';
import type { InputState } from '../inputs/input-counter.ts';
import { errorMessage, InputError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { programVersion } from '../lib/program-version.ts';
import { shareNextRun } from '../lib/share-next-run.ts';
import type { Clock } from '../lib/time.ts';
import type { ConfigReloaded, ConfigState } from '../worker-rpc/process-rpc.ts';
import { startProcessServer } from '../worker-rpc/process-server.ts';
import { auditReload, differentSettings } from './audit-config-changes.ts';
import type { Role } from './hold-roles.ts';
import { requireSharedStorage } from './require-shared-storage.ts';
import type { Terminal } from './terminal.ts';

/** The configuration of a running process, which can be read again. */
export interface ConfigSource {
  loader: ConfigLoader;
  /** As it was read at the start. */
  loaded: Config;
}

interface ConfigReload {
  /**
   * Reads the configuration again, and applies its workgroups, exports and alerts. Concurrent calls share one
   * run.
   * @throws InputError if the configuration has problems; nothing has changed then
   */
  reload(): Promise<ConfigReloaded>;
  state(): ConfigState;
}

/**
 * Reloads the configuration on SIGHUP and when a command asks for it. Does nothing if the configuration came
 * from no file.
 * @returns stops it
 */
export async function acceptReloads(options: {
  configSource?: ConfigSource | undefined;
  terminal?: Pick<Terminal, 'onReload'> | undefined;
  config: Pick<Config, 'dataDir'>;
  roles: readonly Role[];
  workgroups: ReloadableWorkgroups;
  audit: Audit;
  clock: Clock;
  logger: Logger;
  /** The address of the HTTP server. Undefined until it listens. */
  urlNow: () => string | undefined;
  /** The inputs of this process. */
  inputsNow: () => InputState[];
}): Promise<() => Promise<void>> {
  const { configSource: source, terminal, config, roles, urlNow, inputsNow } = options;
  if (!source) return async () => undefined;
  const { reload, state } = createConfigReload({ ...options, source });
  // The log has the error of a refused reload.
  const stopListening = terminal?.onReload(() => void reload().catch(() => undefined));
  const operations = {
    reload,
    configState: async () => ({ ...state(), version: programVersion, url: urlNow() }),
    inputs: async () => inputsNow(),
  };
  const stopServer = await startProcessServer({ dataDir: config.dataDir, roles, operations });
  return async () => {
    stopListening?.();
    await stopServer();
  };
}

export function createConfigReload(options: {
  source: ConfigSource;
  roles: readonly Role[];
  workgroups: ReloadableWorkgroups;
  audit: Audit;
  clock: Clock;
  logger: Logger;
}): ConfigReload {
  const { source, roles, workgroups, audit, clock, logger } = options;
  let state: ConfigState = { loadedAtMs: clock.now(), needRestart: [] };

  async function read(): Promise<Config> {
    try {
      const config = await source.loader.reload();
      requireSharedStorage(config, roles);
      return config;
    } catch (error) {
      const message = errorMessage(error);
      state = { ...state, refused: { atMs: clock.now(), message } };
      const problems = error instanceof InputError ? error.problems.length : undefined;
      logger.error({ problems, error: message }, 'config.reload-refused');
      throw error;
    }
  }

  async function reload(): Promise<ConfigReloaded> {
    const config = await read();
    const needRestart = differentSettings(source.loaded, config);
    const change = workgroups.replace(config);
    const idsOf = (list: ReadonlyArray<{ id: string }>) => list.map(({ id }) => id);
    const reloaded: ConfigReloaded = {
      added: idsOf(change.added),
      changed: idsOf(change.changed.map(({ after }) => after)),
      removed: idsOf(change.removed),
      alerts: change.alerts,
      needRestart,
    };
    state = { loadedAtMs: clock.now(), needRestart };
    logger.info(reloaded, 'config.reloaded');
    auditReload({ config, change, workgroups, roles, audit });
    return reloaded;
  }

  return { reload: shareNextRun(reload), state: () => state };
}
