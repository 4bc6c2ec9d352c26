/**
 * The path of a table of the stream on a server, or of one kind of its messages.
 * @param server its address, which can have a path of its own
 * @param table `-` for all tables
 */
export function tablePath(
  server: URL,
  workgroup: string,
  table: string,
  what: 'latest' | 'messages',
): string {
  const prefix = server.pathname.replace(/\/+$/, '');
  return `${prefix}/api/v1/tables/${encodeURIComponent(workgroup)}/${encodeURIComponent(table)}/${what}`;
}
