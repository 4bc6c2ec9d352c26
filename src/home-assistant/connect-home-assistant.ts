import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json-text.ts';
import { MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { visibleText } from '../lib/visible-text.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { answerSchema } from './home-assistant-messages.ts';

interface HomeAssistantAddress {
  /** The address of its page, such as `http://homeassistant.local:8123`. */
  url: string;
  /** A long-lived access token. */
  token: string;
}

/** A connection to the WebSocket API of Home Assistant. */
export interface HomeAssistant {
  /** @throws TransientError without an answer, TerminalError if the command is refused */
  call(type: string, fields: Record<string, unknown>): Promise<unknown>;
  close(): void;
}

const GREETING_MS_MAX = 15 * SECOND_MS;
/** A slow machine needs this long for a month of many statistics. */
const ANSWER_MS_MAX = 2 * MINUTE_MS;
const ANSWER_CHARACTERS_MAX = 64 * 1024 ** 2;
const REFUSAL_CHARACTERS_MAX = 300;

/**
 * Connects and signs in.
 * @throws TransientError without an answer, TerminalError if the token is refused. No error contains the
 *   token
 */
export async function connectHomeAssistant(
  { url, token }: HomeAssistantAddress,
  signal: AbortSignal,
): Promise<HomeAssistant> {
  signal.throwIfAborted();
  const { host } = new URL(url);
  const socket = new WebSocket(`${url.replace(/^http/, 'ws').replace(/\/+$/, '')}/api/websocket`);
  const answers = readAnswers(socket, host, signal);
  try {
    const greeting = await answers.next(GREETING_MS_MAX);
    if (greeting.type !== 'auth_required')
      throw new TerminalError(
        'HomeAssistantUnknown',
        `${host} does not answer like Home Assistant; check the address`,
      );
    socket.send(JSON.stringify({ type: 'auth', access_token: token }));
    const { type } = await answers.next(GREETING_MS_MAX);
    if (type !== 'auth_ok')
      throw new TerminalError(
        'HomeAssistantToken',
        `Home Assistant at ${host} refuses the token; create a long-lived access token in your profile there, under Security`,
      );
  } catch (error) {
    answers.close();
    throw error;
  }
  let id = 0;
  return {
    async call(type, fields) {
      id += 1;
      const requestId = id;
      socket.send(JSON.stringify({ id: requestId, type, ...fields }));
      for (;;) {
        const answer = await answers.next(ANSWER_MS_MAX);
        if (answer.id !== requestId || answer.type !== 'result') continue;
        if (answer.success) return answer.result;
        const { code = 'unknown', message = '' } = answer.error ?? {};
        throw new TerminalError(
          'HomeAssistantRefused',
          `Home Assistant at ${host} refuses ${type} (${visibleText(`${code}: ${message}`).slice(0, REFUSAL_CHARACTERS_MAX)})${adviceOn(code)}`,
        );
      }
    },
    close: answers.close,
  };
}

function adviceOn(code: string | number): string {
  if (code === 'unauthorized') return '; the token must be that of an administrator';
  if (code === 'unknown_command' || code === 'invalid_format')
    return '; this version may be too old for it: update Home Assistant';
  return '';
}

type Answer = ReturnType<typeof answerSchema.parse>;

/** The messages of a server, one after another. */
function readAnswers(socket: WebSocket, host: string, signal: AbortSignal) {
  const waiting: Answer[] = [];
  let wake = Promise.withResolvers<void>();
  let failure: Error | undefined;
  const fail = (error: Error) => {
    failure ??= error;
    wake.resolve();
  };
  const onAbort = () => {
    fail(signal.reason instanceof Error ? signal.reason : new Error(errorMessage(signal.reason)));
    socket.close();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  let isOpen = false;
  const onEnd = () =>
    fail(
      isOpen
        ? new TransientError(
            'HomeAssistantClosed',
            `Home Assistant at ${host} has ended the connection; try again`,
          )
        : new TransientError(
            'HomeAssistantUnreachable',
            `Home Assistant at ${host} does not answer, or its certificate is not trusted; check the address; if you have your own certificate authority, set NODE_EXTRA_CA_CERTS`,
          ),
    );
  socket.addEventListener('open', () => {
    isOpen = true;
  });
  socket.addEventListener('error', onEnd);
  socket.addEventListener('close', onEnd);
  socket.addEventListener('message', ({ data }) => {
    const read =
      typeof data === 'string' && data.length <= ANSWER_CHARACTERS_MAX ? parseAnswer(data) : undefined;
    if (read) waiting.push(read);
    else
      fail(
        new TerminalError(
          'HomeAssistantUnknown',
          `${host} answers with something that is not understood; check the address`,
        ),
      );
    wake.resolve();
  });
  return {
    async next(withinMs: number): Promise<Answer> {
      for (;;) {
        const answer = waiting.shift();
        if (answer) return answer;
        if (failure) throw failure;
        if ((await withTimeout(wake.promise, withinMs)) === 'late')
          throw new TransientError(
            'HomeAssistantSilent',
            `Home Assistant at ${host} has not answered within ${withinMs / SECOND_MS} s; check if it runs`,
          );
        wake = Promise.withResolvers();
      }
    },
    close() {
      signal.removeEventListener('abort', onAbort);
      socket.close();
    },
  };
}

function parseAnswer(text: string): Answer | undefined {
  return answerSchema.safeParse(tryParseJson(text)).data;
}
