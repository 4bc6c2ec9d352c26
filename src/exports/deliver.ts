import type { ExportConfig } from '../config/export-settings.ts';
import { deliverToFolder } from './deliver-folder.ts';
import { deliverToS3 } from './deliver-s3.ts';
import { deliverToWebhook } from './deliver-webhook.ts';
import type { Outgoing } from './outgoing.ts';

/**
 * Delivers a file. Delivering it again changes nothing.
 * @returns its place, without secrets
 * @throws TransientError that says what to check, without secrets
 */
export function deliver(
  { folder, s3, webhook }: ExportConfig['destination'],
  outgoing: Outgoing,
  signal: AbortSignal,
): Promise<string> {
  if (folder !== undefined) return deliverToFolder(folder, outgoing);
  if (s3) return deliverToS3(s3, outgoing, signal);
  if (webhook) return deliverToWebhook(webhook, outgoing, signal);
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
