import type { Config, WorkgroupConfig } from '../config/config.ts';
import { InputError } from '../lib/errors.ts';

/** The workgroup that a command is about. @throws InputError where it is not clear which one is meant */
export function chooseWorkgroup({ workgroups }: Config, id: string | undefined): WorkgroupConfig {
  const found =
    id === undefined && workgroups.length === 1 ? workgroups[0] : workgroups.find((one) => one.id === id);
  if (found) return found;
  if (workgroups.length === 0)
    throw new InputError('the configuration', [
      {
        path: 'workgroups',
        message: 'none is configured; where wattline.yaml is elsewhere, name it with --config',
      },
    ]);
  const names = workgroups.map((one) => one.id).join(', ');
  const message =
    id === undefined ? `is needed: there are ${names}` : `"${id}" is not configured; there are ${names}`;
  throw new InputError('the command line', [{ path: '--workgroup', message }]);
}
