import { send } from '../http/send-request.ts';
import { errorMessage } from '../lib/errors.ts';
import { type Fact, ok, problem, warning } from './run-checks.ts';

/** A receiver of POST requests. */
interface Receiver {
  url: string;
  headers: Record<string, string>;
}

/**
 * Asks a receiver with HEAD, which changes nothing there. Many receivers know only POST, so their refusal of
 * HEAD is not a fault.
 * @param about what it receives, such as `channel "ops"`
 * @param tryIt the command that sends something
 */
export async function askReceiver(
  { url, headers }: Receiver,
  { about, tryIt }: { about: string; tryIt: string },
  signal: AbortSignal,
): Promise<Fact[]> {
  const { host } = new URL(url);
  const answer = await statusOf({ method: 'HEAD', url, headers }, about, signal);
  if (typeof answer !== 'number') return [answer];
  const finding = `${host} answers for ${about} (HTTP ${answer} to HEAD)`;
  const advice = `"${tryIt}" shows whether it takes what is sent`;
  if (answer >= 300 && answer < 400)
    return [warning(finding, `redirects are not followed: configure the final address; ${advice}`)];
  if (answer === 401 || answer === 403) return [warning(finding, `check the configured headers; ${advice}`)];
  if (answer === 407 || (answer >= 500 && answer !== 501))
    return [warning(finding, `look at the log of the receiver; ${advice}`)];
  return [ok(`${finding}; ${advice}`)];
}

/** @returns the status, or the fact that nobody answers */
export async function statusOf(
  request: { method: 'GET' | 'HEAD'; url: string; headers: Record<string, string> },
  about: string,
  signal: AbortSignal,
): Promise<number | Fact> {
  try {
    return (await send(request, signal)).status;
  } catch (error) {
    if (signal.aborted) throw error;
    const words = errorMessage(error);
    return problem(
      `${about}: ${words}`,
      /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|_TLS_/.test(words)
        ? 'its certificate is not trusted or has ended: let its operator renew it, or set NODE_EXTRA_CA_CERTS to the file of its authority'
        : 'check the address and the network',
    );
  }
}
