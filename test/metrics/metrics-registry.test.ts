import { expect, test } from 'vitest';
import { createMetricsRegistry, label } from '../../src/metrics/metrics-registry.ts';

test('the text has the format of Prometheus: help, type, samples, escaped labels, cumulative buckets', () => {
  const registry = createMetricsRegistry();
  const durations = registry.addHistogram('wattline_stage_duration_seconds', [0.1, 5]);
  const delays = { bounds: [60], counts: [3, 1], sum: 200.5 };
  registry.addCountedHistogram('wattline_event_delay_seconds', () => delays);
  registry.addSampler('stream', (put) => {
    const odd = `${label('workgroup', 'a"b\\c\nd')},${label('transport', 'rest')}`;
    put('wattline_stream_subscriptions', 2, odd);
    put('wattline_stream_messages_received_total', 12_345_678, label('workgroup', 'home'));
    put('wattline_stream_oldest_message_timestamp_seconds', undefined, label('workgroup', 'home'));
    put('wattline_stream_subscriptions', 0.5);
  });
  const poll = label('stage', 'poll');
  for (const seconds of [0.1, 0.2, 7]) durations.observe(poll, seconds);
  expect(registry.contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  const blocks = registry.text().split(/\n(?=# HELP)/);
  expect(blocks.find((block) => block.includes('wattline_stage_duration_seconds'))).toBe(
    `# HELP wattline_stage_duration_seconds Duration of runs of the stages, also of failed ones.
# TYPE wattline_stage_duration_seconds histogram
wattline_stage_duration_seconds_bucket{le="0.1",stage="poll"} 1
wattline_stage_duration_seconds_bucket{le="5",stage="poll"} 2
wattline_stage_duration_seconds_bucket{le="+Inf",stage="poll"} 3
wattline_stage_duration_seconds_sum{stage="poll"} 7.3
wattline_stage_duration_seconds_count{stage="poll"} 3
`,
  );
  expect(blocks.find((block) => block.includes('wattline_event_delay_seconds'))).toBe(
    `# HELP wattline_event_delay_seconds Time from the event at the device until the stream had the message, of landed telemetry.
# TYPE wattline_event_delay_seconds histogram
wattline_event_delay_seconds_bucket{le="60"} 3
wattline_event_delay_seconds_bucket{le="+Inf"} 4
wattline_event_delay_seconds_sum 200.5
wattline_event_delay_seconds_count 4
`,
  );
  expect(blocks.find((block) => block.includes('wattline_stream_subscriptions'))).toBe(
    `# HELP wattline_stream_subscriptions Readers of the stream: held reads (transport rest) and subscriptions (transport socket).
# TYPE wattline_stream_subscriptions gauge
wattline_stream_subscriptions{workgroup="a\\"b\\\\c\\nd",transport="rest"} 2
wattline_stream_subscriptions 0.5
`,
  );
  expect(blocks.find((block) => block.includes('stream_messages'))).toMatch(
    /\nwattline_stream_messages_received_total\{workgroup="home"\} 12345678\n$/,
  );
  // Nothing is known of it, and a scraper still learns that it exists.
  expect(blocks.find((block) => block.includes('oldest_message'))).toMatch(/ gauge\n$/);
});
