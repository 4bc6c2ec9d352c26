import type { Config, WorkgroupConfig } from '../config/config.ts';
import { InputError } from '../lib/errors.ts';
import { commandLineError } from './command-line-error.ts';

/** The option of all commands on one workgroup. */
export const WORKGROUP_OPTION = [
  '-w, --workgroup <id>',
  'the workgroup; required if there are several',
] as const;

/**
 * The workgroup of a command.
 * @throws InputError if the id is unknown, or missing although there are several workgroups
 */
export function chooseWorkgroup({ workgroups }: Config, id: string | undefined): WorkgroupConfig {
  const found =
    id === undefined && workgroups.length === 1 ? workgroups[0] : workgroups.find((one) => one.id === id);
  if (found) return found;
  if (workgroups.length === 0)
    throw new InputError('the configuration', [
      {
        path: 'workgroups',
        message: 'no workgroup is configured; if wattline.yaml is in another folder, name it with --config',
      },
    ]);
  const names = workgroups.map((one) => one.id).join(', ');
  const message =
    id === undefined
      ? `is missing; configured are ${names}`
      : `"${id}" is not configured; configured are ${names}`;
  throw commandLineError('--workgroup', message);
}
