/** What `wattline/client` exports. */

export type { Backoff, Waiting } from '../client/backoff.ts';
export type { Ask, Position } from '../client/position.ts';
export type { Gap } from '../client/read-outcome.ts';
export type { TokenSource } from '../client/rest-source.ts';
export type { FieldValue, StreamMessage } from '../contract/messages.ts';
export { isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
export type * from './client-answers.ts';
export { parsePosition, positionText } from './position-text.ts';
export { type MessageBatch, type ReadMessagesOptions, readMessages } from './read-messages.ts';
export type { RowReport } from './read-report-rows.ts';
export {
  type BudgetQuestion,
  type CallOptions,
  createReportClient,
  type DayQuestion,
  type EnergyQuestion,
  type ExplainQuestion,
  type MeterQuestion,
  type ReportClient,
} from './report-client.ts';
export type { Parameters, ReportRequestOptions } from './report-request.ts';
