import { destinationOf } from '../config/export-settings.ts';
import { deliverByEmail, type EmailDeps } from './deliver-email.ts';
import { deliverToFolder } from './deliver-folder.ts';
import { deliverToHomeAssistant, type HomeAssistantDeps } from './deliver-home-assistant.ts';
import { deliverToS3 } from './deliver-s3.ts';
import { deliverToWebhook } from './deliver-webhook.ts';
import type { ExportQuery } from './exported-report.ts';
import type { Outgoing } from './outgoing.ts';
import type { ExportFormat } from './write-export-file.ts';

/**
 * Delivers a file. Delivering it again changes nothing; a mail comes again with the same Message-ID. Home
 * Assistant gets statistics, and not the file.
 * @returns its place, without secrets
 * @throws TransientError that says what to check, without secrets
 */
export function deliver(
  query: ExportQuery,
  outgoing: Outgoing,
  deps: EmailDeps & HomeAssistantDeps,
  signal: AbortSignal,
): Promise<string> {
  const { kind, to } = destinationOf(query.config);
  switch (kind) {
    case 'folder':
      return deliverToFolder(to, outgoing);
    case 's3':
      return deliverToS3(to, outgoing, signal);
    case 'webhook':
      return deliverToWebhook(to, outgoing, signal);
    case 'email':
      return deliverByEmail(to, outgoing, query, deps, signal);
    case 'homeAssistant':
      return deliverToHomeAssistant(to, query, deps, signal);
    default:
      return kind satisfies never;
  }
}

const contentTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

export function contentTypeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf('.') + 1);
  return Object.hasOwn(contentTypes, extension)
    ? contentTypes[extension as ExportFormat]
    : 'application/octet-stream';
}
