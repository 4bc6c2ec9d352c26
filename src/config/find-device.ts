import { deviceIdSchema } from '../contract/messages.ts';

/**
 * A device by its id or by the name that it is configured with, however it is capitalised.
 * @returns its id, lower case; undefined where it is neither
 */
export function findDevice(
  { devices }: { devices: ReadonlyArray<{ id: string; name?: string | undefined }> },
  text: string,
): string | undefined {
  const wanted = text.trim().toLowerCase();
  const named = devices.find(({ name }) => name?.toLowerCase() === wanted);
  return named?.id ?? (deviceIdSchema.safeParse(wanted).success ? wanted : undefined);
}
