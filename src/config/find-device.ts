import { deviceIdSchema } from '../contract/messages.ts';

/**
 * Finds a device by its id or its configured name, ignoring case.
 * @returns its id in lower case, or undefined
 */
export function findDevice(
  { devices }: { devices: ReadonlyArray<{ id: string; name?: string | undefined }> },
  text: string,
): string | undefined {
  const nameOrId = text.trim().toLowerCase();
  const named = devices.find(({ name }) => name?.toLowerCase() === nameOrId);
  return named?.id ?? (deviceIdSchema.safeParse(nameOrId).success ? nameOrId : undefined);
}
