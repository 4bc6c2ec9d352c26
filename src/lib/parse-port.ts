/** Reads a port in decimal digits. @returns undefined if the text is not a number from 0 to 65535 */
export function parsePort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}
