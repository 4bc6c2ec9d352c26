import { deliverByEmail, type EmailDeps } from './deliver-email.ts';
import { deliverToFolder } from './deliver-folder.ts';
import { deliverToHomeAssistant, type HomeAssistantDeps } from './deliver-home-assistant.ts';
import { deliverToS3 } from './deliver-s3.ts';
import { deliverToWebhook } from './deliver-webhook.ts';
import type { ExportQuery } from './exported-report.ts';
import type { Outgoing } from './outgoing.ts';

/**
 * Delivers a file. Delivering it again changes nothing; a mail comes again with the same Message-ID. Home Assistant gets statistics, and not the file.
 * @returns its place, without secrets
 * @throws TransientError that says what to check, without secrets
 */
export function deliver(
  query: ExportQuery,
  outgoing: Outgoing,
  deps: EmailDeps & HomeAssistantDeps,
  signal: AbortSignal,
): Promise<string> {
  const { folder, s3, webhook, email, homeAssistant } = query.config.destination;
  if (folder !== undefined) return deliverToFolder(folder, outgoing);
  if (s3) return deliverToS3(s3, outgoing, signal);
  if (webhook) return deliverToWebhook(webhook, outgoing, signal);
  if (email) return deliverByEmail(email, outgoing, query, deps, signal);
  if (homeAssistant) return deliverToHomeAssistant(homeAssistant, query, deps, signal);
  throw new Error('an export has a destination');
}

const contentTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

export function contentTypeOf(name: string): string {
  return contentTypes[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
}
