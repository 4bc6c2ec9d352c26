import { appendMessage } from '../../src/decode/append-message.ts';
import { createColumns } from '../../src/decode/columns-buffer.ts';
import type { MessageColumns, NameTable } from '../../src/decode/message-columns.ts';

/**
 * Makes columns of decoded messages. Messages that break the contract are in `rejected`, with their JSON text
 * as bytes.
 */
export function messagesToColumns(
  messages: readonly unknown[],
  names: NameTable,
  { defaultTable }: { defaultTable?: string | undefined } = {},
): MessageColumns {
  const columns = createColumns(messages.length);
  for (const message of messages) appendMessage(columns, names, message, undefined, defaultTable);
  return columns;
}
