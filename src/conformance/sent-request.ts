/** A sent request, or the steps over a socket, so that a person can repeat it. */
export type Sent =
  | {
      kind: 'http';
      url: string;
      token: string | undefined;
      headers: Record<string, string>;
      body?: string | Uint8Array;
    }
  | { kind: 'socket'; steps: string[] };

const BODY_SHOWN_MAX = 1_000;

/** The request as a shell command. `shownAs` replaces tokens. */
export function asCommand(sent: Sent, shownAs: (token: string) => string): string {
  if (sent.kind === 'socket') return sent.steps.join('; ');
  const { url, token, headers, body } = sent;
  const parts = ['curl -sS -D - -o answer.cbor'];
  if (token !== undefined) parts.push(`-H "Authorization: Bearer ${shownAs(token)}"`);
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body === undefined) return [...parts, quoted(url)].join(' ');
  if (body.length > BODY_SHOWN_MAX)
    return [...parts, `--data-binary @body  ${quoted(url)}  # body: ${body.length} bytes, not shown`].join(
      ' ',
    );
  if (typeof body === 'string') return [...parts, `--data-binary ${quoted(body)}`, quoted(url)].join(' ');
  const hex = Buffer.from(body).toString('hex');
  return `echo ${hex} | xxd -r -p | ${[...parts, '--data-binary @-', quoted(url)].join(' ')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
