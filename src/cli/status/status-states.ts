import type { Access } from '../../access/access.ts';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import { createWorkgroups } from '../../config/workgroups.ts';
import { systemClock } from '../../lib/time.ts';
import type { FindStream } from '../../operate/count-backlogs.ts';
import { readWorkgroupStates, type WorkgroupState } from '../../operate/workgroup-state.ts';
import type { OpenControl } from '../../service/open-control.ts';
import type { createUpstreams } from '../../service/upstreams.ts';

/** The processes that are asked for facts that the files of this machine do not have. */
export interface Asking {
  control: OpenControl;
  /** The address of the own stream. Undefined if it does not run on this machine. */
  ownUrl: string | undefined;
}

/** The states of workgroups, as a command finds them out. See `readWorkgroupStates`. */
export function readStates(
  config: Config,
  chosen: readonly WorkgroupConfig[],
  { control, ownUrl }: Asking,
  options: { withEffects: boolean },
): Promise<WorkgroupState[]> {
  const source = {
    config,
    workgroups: config.workgroups,
    exportsOf: (id: string) => config.exports.filter(({ workgroup }) => workgroup === id),
    control,
    clock: systemClock,
    findStream: streamFinder(config, ownUrl),
  };
  return readWorkgroupStates(source, chosen, options);
}

/**
 * Finds streams with a token of this command. The own stream has no address if it does not run on this
 * machine.
 */
function streamFinder(config: Config, ownUrl: string | undefined): FindStream {
  const workgroups = createWorkgroups(config);
  let finding: Promise<ReturnType<typeof createUpstreams>> | undefined;
  const open = async () => {
    const { createAccess } = await import('../../access/access.ts');
    const upstreams = await import('../../service/upstreams.ts');
    const access = ownUrl
      ? await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock })
      : undefined;
    const issue: Access['issue'] = (...request) => access!.issue(...request);
    return upstreams.createUpstreams(workgroups, ownUrl ?? '', { issue });
  };
  return async (workgroupId) => {
    if (!ownUrl && !workgroups.get(workgroupId)?.upstream) return undefined;
    finding ??= open();
    return (await finding).addressOf(workgroupId);
  };
}
