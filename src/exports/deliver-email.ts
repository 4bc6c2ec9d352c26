import { readFile } from 'node:fs/promises';
import type { ExportConfig } from '../config/export-settings.ts';
import type { MailSettings } from '../config/mail-settings.ts';
import { TerminalError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { sendMail } from '../mail/send-mail.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import type { ExportQuery } from './exported-report.ts';
import { readMorningFacts } from './morning-facts.ts';
import { writeMorningMail } from './morning-mail.ts';
import type { Outgoing } from './outgoing.ts';
import { requireGeneration } from './require-generation.ts';

type Email = NonNullable<ExportConfig['destination']['email']>;

/** The parts of a mail without the file. */
export interface EmailDeps {
  lake: LakeReader;
  /** Undefined if no mail server is configured. */
  mail: MailSettings | undefined;
  /** The address of the web page. Without it a mail has no link. */
  publicUrl: string | undefined;
}

/** Larger files are named in the mail, and not attached, because many servers refuse them. */
const ATTACHED_BYTES_MAX = 8 * MEBIBYTE;

/**
 * Sends a mail about the last day of the period, with the file. A repeated mail has the same Message-ID, but
 * its text is made from the newest generation.
 */
export async function deliverByEmail(
  { to, attach }: Email,
  { path, name, bytes, sha256, contentType, idempotencyKey }: Outgoing,
  { config, workgroup, period }: ExportQuery,
  { lake, mail, publicUrl }: EmailDeps,
  signal: AbortSignal,
): Promise<string> {
  if (!mail)
    throw new TerminalError(
      'MailNotConfigured',
      `export ${config.id} sends mails, but no mail server is configured; configure mail, then start the service again`,
    );
  const generation = await requireGeneration(lake, workgroup.id);
  const day = period.endDay;
  const facts = await readMorningFacts(workgroup, day, { lake, generation, signal });
  const isAttached = attach && bytes <= ATTACHED_BYTES_MAX;
  const tooLarge = `The file ${name} has ${formatCount(bytes)} bytes, which is too much for a mail. "wattline exports show ${config.id}" says where to find it.`;
  const { refused } = await sendMail(
    mail,
    {
      to,
      ...writeMorningMail(facts, {
        link: publicUrl && `${publicUrl}/#/${encodeURIComponent(workgroup.id)}/energy?from=${day}&to=${day}`,
        notes: attach && !isAttached ? [tooLarge] : [],
      }),
      attachment: isAttached ? { name, contentType, content: await readFile(path) } : undefined,
      // All attempts have the same file, so they have the same key. Another service can have an export of
      // this name, but its file is another one.
      key: `${workgroup.id} ${idempotencyKey} ${sha256}`,
    },
    signal,
  );
  const sentText = `mail to ${to.filter((one) => !refused.includes(one)).join(', ')}`;
  return refused.length === 0 ? sentText : `${sentText}; refused: ${refused.join(', ')}`;
}
