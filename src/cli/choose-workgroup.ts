import type { Config, WorkgroupConfig } from '../config.ts';
import { InputError } from '../errors.ts';

/** The workgroup that a command is about. @throws InputError where it is not clear which one is meant */
export function chooseWorkgroup({ workgroups }: Config, id: string | undefined): WorkgroupConfig {
  const found =
    id === undefined && workgroups.length === 1 ? workgroups[0] : workgroups.find((one) => one.id === id);
  if (found) return found;
  const names = workgroups.map((one) => one.id).join(', ') || 'none';
  const message =
    id === undefined ? `is needed: there are ${names}` : `"${id}" is not configured; there are ${names}`;
  throw new InputError('the command line', [{ path: '--workgroup', message }]);
}
