import { z } from 'zod';
import { isLoopback } from '../lib/is-loopback.ts';
import { port } from './setting-types.ts';

/** The port of each kind of protection, if none is configured. */
const ports = { starttls: 587, tls: 465, none: 25 } as const;

const HEADER_CHARACTERS_MAX = 200;

const MAIL_RECIPIENTS_MAX = 50;

/** One address without a name, such as `ada@example.com`. */
const mailAddress = z
  .string()
  .max(254)
  .regex(
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/,
    'must be an address such as "ada@example.com"',
  );

/** To whom mails go. */
export const mailRecipients = z
  .array(mailAddress)
  .min(1, 'must name an address')
  .max(MAIL_RECIPIENTS_MAX, `may have at most ${MAIL_RECIPIENTS_MAX} addresses`);

const sender = z
  .string()
  .max(HEADER_CHARACTERS_MAX)
  .refine((text) => mailAddress.safeParse(addressOf(text)).success, {
    error: 'must be an address such as "wattline@example.com" or "Wattline <wattline@example.com>"',
  });

/** A server that takes mails. */
export const mailSchema = z
  .strictObject({
    host: z.string().min(1).max(253),
    /** Default: 587, with `tls: tls` 465, with `tls: none` 25. */
    port: port.refine((value) => value > 0, { error: 'must be a port from 1 to 65535' }).optional(),
    /**
     * `starttls` begins in plain text and ends the connection if the server has no TLS. `tls` begins with
     * TLS.
     */
    tls: z.enum(['starttls', 'tls', 'none'], { error: 'must be starttls, tls or none' }).default('starttls'),
    /**
     * PEM of the authorities that may have signed the certificate. Default: the authorities that the system
     * trusts.
     */
    ca: z.string().min(1).optional(),
    /**
     * Allows `tls: none` to other machines. Everybody on the way can then read the mails and the password.
     */
    allowPlain: z.boolean().default(false),
    user: z.string().min(1).max(1_000).optional(),
    password: z.string().min(1).max(1_000).optional(),
    /** The sender: an address, or a name and an address. */
    from: sender,
  })
  .superRefine((mail, context) => {
    const refuse = (at: string, message: string) => context.addIssue({ code: 'custom', path: [at], message });
    if ((mail.user === undefined) !== (mail.password === undefined))
      refuse(
        mail.user === undefined ? 'user' : 'password',
        'is needed too; user and password belong together',
      );
    if (mail.tls === 'none' && !isLoopback(mail.host) && !mail.allowPlain)
      refuse(
        'tls',
        'none is only possible to this machine; choose starttls or tls, or set allowPlain: true on a network that you trust',
      );
  })
  .transform((mail) => ({ ...mail, port: mail.port ?? ports[mail.tls] }));

export type MailSettings = z.output<typeof mailSchema>;

/** The address of a sender, without its name. */
export function addressOf(from: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line end would begin another header
  return /^[^<>",\u0000-\u001f\u007f]* <([^<>]+)>$/.exec(from)?.[1] ?? from;
}
