import type { InputState } from '../inputs/input-counter.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { StreamSocket } from '../stream/socket/stream-socket.ts';
import type { Stream } from '../stream/stream.ts';
import type { MetricsContext } from './metrics-context.ts';
import type { MetricLabels, PutSample } from './metrics-registry.ts';
import { labelsOf } from './workgroup-labels.ts';

export type StreamView = Pick<Stream, 'counts'> &
  Pick<StreamSocket, 'subscriptions'> & { inputs(): InputState[] };

/** The label of workgroups that are not configured. A caller could name any number of them. */
const UNKNOWN = '';

/** @returns a function to call for each refused request to send messages */
export function addStreamMetrics(
  { registry, workgroups }: MetricsContext,
  { counts, subscriptions, inputs }: StreamView,
): (workgroupId: string, reason: string) => void {
  const rejected = new Map<string, Map<string, number>>();

  registry.addSampler('stream', (put) => {
    for (const { workgroupId, messagesAppended, heldReads, oldestMs } of counts()) {
      const workgroup = workgroups.get(workgroupId);
      if (!workgroup) continue;
      const { own, and } = labelsOf(workgroup);
      put('wattline_stream_messages_received_total', messagesAppended, own);
      put('wattline_stream_oldest_message_timestamp_seconds', oldestMs && oldestMs / SECOND_MS, own);
      put('wattline_stream_subscriptions', heldReads, and('transport', 'rest'));
    }
    for (const [workgroupId, count] of subscriptions()) {
      const workgroup = workgroups.get(workgroupId);
      if (workgroup)
        put('wattline_stream_subscriptions', count, labelsOf(workgroup).and('transport', 'socket'));
    }
    for (const input of inputs()) {
      const workgroup = workgroups.get(input.workgroupId);
      if (workgroup) putInput(put, labelsOf(workgroup).and('input', input.input), input);
    }
    for (const [workgroup, reasons] of rejected) {
      if (workgroup !== UNKNOWN && !workgroups.get(workgroup)) continue;
      for (const [reason, count] of reasons)
        put('wattline_stream_rejected_total', count, labelsOf({ id: workgroup }).and('reason', reason));
    }
  });

  return (workgroupId, reason) => {
    const workgroup = workgroups.get(workgroupId) ? workgroupId : UNKNOWN;
    const reasons = rejected.get(workgroup) ?? new Map<string, number>();
    rejected.set(workgroup, reasons.set(reason, (reasons.get(reason) ?? 0) + 1));
  };
}

function putInput(put: PutSample, labels: MetricLabels, input: InputState): void {
  const { kind, troubledSinceMs, disconnects, received, stored, refused, lastMessageAtMs } = input;
  put('wattline_input_up', troubledSinceMs === undefined ? 1 : 0, labels);
  if (kind === 'mqtt') put('wattline_input_disconnects_total', disconnects, labels);
  put('wattline_input_messages_total', received, labels);
  put('wattline_input_stored_total', stored, labels);
  put('wattline_input_rejected_total', refused, labels);
  const lastAt = lastMessageAtMs && lastMessageAtMs / SECOND_MS;
  put('wattline_input_last_message_timestamp_seconds', lastAt, labels);
}
