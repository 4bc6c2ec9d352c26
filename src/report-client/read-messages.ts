import type { Ask, Position } from '../client/position.ts';
import type { Gap } from '../client/read-outcome.ts';
import type { TokenSource } from '../client/rest-source.ts';
import type { StreamMessage } from '../contract/messages.ts';

export interface ReadMessagesOptions {
  /** The URL of the stream before `/api/v1/...`. */
  url: string;
  workgroup: string;
  /** A table, or `-` for all tables. Default: `-`. */
  table?: string;
  token: TokenSource;
  /** Where to begin: the position of an earlier batch, or another start. Default: the oldest message. */
  from?: Position | Ask;
  /** True to end at the newest message instead of waiting. */
  untilUpToDate?: boolean;
  signal?: AbortSignal;
}

export interface MessageBatch {
  /** Never empty, unless there is a gap. Offsets are bigints. */
  messages: StreamMessage[];
  /** Store it when the messages are safe, with `positionText`. */
  position: Position;
  upToDate: boolean;
  /** Messages before these that are lost. */
  gap: Gap | undefined;
}

/**
 * Reads the messages of a workgroup without end, from any server of the contract: each once and in order,
 * through failures, renewed tokens and logs that were created again. Ends without an error when the signal
 * aborts. The libraries of the stream are loaded with the first call.
 * @throws TransientError after 7 failures in a row; TerminalError if a repetition cannot help
 */
export async function* readMessages(options: ReadMessagesOptions): AsyncGenerator<MessageBatch, void> {
  const [{ createRestSource }, { readStream }, { columnsToMessages }] = await Promise.all([
    import('../client/rest-source.ts'),
    import('../client/read-stream.ts'),
    import('../client/columns-to-messages.ts'),
  ]);
  const { from, untilUpToDate, signal, ...target } = options;
  const source = createRestSource(target);
  try {
    const batches = readStream(source, {
      waitSeconds: 1,
      from,
      untilUpToDate,
      signal,
    });
    for await (const { columns, names, position, upToDate, gap } of batches) {
      const messages = columnsToMessages(columns, names);
      if (messages.length > 0 || gap) yield { messages, position, upToDate, gap };
    }
  } finally {
    await source.close();
  }
}
