-- From readings to watt-hours. Intervals are the stored truth; days are sums of them.

CREATE TABLE energy_stream (
  stream_id INTEGER NOT NULL,
  identity VARCHAR NOT NULL,
  settings VARCHAR,
  batch_id BIGINT NOT NULL
);
COMMENT ON TABLE energy_stream IS 'The configured fields that tell energy';
COMMENT ON COLUMN energy_stream.identity IS 'What decides the value of a reading (table, field, method, unit ...), as JSON: another one is another stream';
COMMENT ON COLUMN energy_stream.settings IS 'The whole definition and the zone of the days as JSON, to see when it has changed; null where it is no longer configured';
COMMENT ON COLUMN energy_stream.batch_id IS 'The last batch whose readings it has taken in';

CREATE TABLE declared_source (
  device UUID NOT NULL,
  source VARCHAR NOT NULL
);
COMMENT ON TABLE declared_source IS 'The sources that the configuration says devices have: a day on which one of them has no energy is incomplete';

CREATE TABLE series (
  series_id INTEGER NOT NULL,
  stream_id INTEGER NOT NULL,
  device UUID NOT NULL,
  source VARCHAR NOT NULL,
  first_ms BIGINT NOT NULL,
  last_ms BIGINT NOT NULL,
  learnt_power_w DOUBLE,
  resolution DOUBLE,
  step_ms BIGINT
);
COMMENT ON TABLE series IS 'One energy stream of one device and source';
COMMENT ON COLUMN series.first_ms IS 'Event times of its first and last valid reading';
COMMENT ON COLUMN series.learnt_power_w IS 'The most power (W) that is plausible, learnt from the readings; null while too few are known';
COMMENT ON COLUMN series.resolution IS 'Smallest growth between two readings (Wh), learnt';
COMMENT ON COLUMN series.step_ms IS 'Usual time between two readings (ms), learnt';

CREATE TABLE series_quarter (
  series_id INTEGER NOT NULL,
  interval_start_ms BIGINT NOT NULL,
  power_w DOUBLE,
  resolution DOUBLE,
  steps_ms BIGINT NOT NULL,
  step_count INTEGER NOT NULL,
  change_count INTEGER NOT NULL
);
COMMENT ON TABLE series_quarter IS 'What the steps look like that end in a 15-minute interval, of series that have something to learn: a new reading costs a look at its own quarter of an hour';

CREATE TABLE series_day (
  series_id INTEGER NOT NULL,
  utc_day INTEGER NOT NULL,
  power_w DOUBLE,
  resolution DOUBLE,
  step_ms BIGINT,
  change_count INTEGER NOT NULL
);
COMMENT ON TABLE series_day IS 'What a series looks like on each UTC day (days since 1970), from its quarters: what the learnt values are made of';
COMMENT ON COLUMN series_day.power_w IS 'Usual power (W) of a growing register, rounded up to a power of two so that it seldom changes';

CREATE TABLE reading (
  series_id INTEGER NOT NULL,
  event_time_ms BIGINT NOT NULL,
  value DOUBLE NOT NULL,
  message_id BIGINT,
  stream_offset UBIGINT,
  batch_id BIGINT NOT NULL
);
COMMENT ON TABLE reading IS 'Valid readings in canonical units, one for each series and event time';
COMMENT ON COLUMN reading.message_id IS 'The device''s own counter, where it sends one: of two readings of one instant the higher one counts, then that with the higher offset';
COMMENT ON COLUMN reading.batch_id IS 'The batch that it landed in';
COMMENT ON COLUMN reading.value IS 'Wh for registers and interval energy, W for power';

CREATE TABLE superseded_reading (
  series_id INTEGER NOT NULL,
  event_time_ms BIGINT NOT NULL,
  value DOUBLE NOT NULL,
  message_id BIGINT,
  stream_offset UBIGINT,
  batch_id BIGINT NOT NULL
);
COMMENT ON TABLE superseded_reading IS 'Valid readings that do not count, because another of the same series and event time does: repetitions, and values that were revised';

CREATE TABLE interval_energy (
  series_id INTEGER NOT NULL,
  interval_start_ms BIGINT NOT NULL,
  energy_wh BIGINT NOT NULL,
  exact_nwh BIGINT,
  covered_ms INTEGER NOT NULL,
  flags USMALLINT NOT NULL,
  last_ms BIGINT,
  last_value DOUBLE
);
COMMENT ON TABLE interval_energy IS 'Energy of each 15-minute interval of absolute time';
COMMENT ON COLUMN interval_energy.exact_nwh IS 'Energy before rounding, in billionths of a Wh, where the method has no register of its own to round; the intervals of a local day are rounded on their running sum';
COMMENT ON COLUMN interval_energy.last_value IS 'High-water mark (Wh) at the last valid reading in the interval, which was at last_ms: where computing the next interval starts';
COMMENT ON COLUMN interval_energy.covered_ms IS 'How much of the interval (ms) measurements cover';
COMMENT ON COLUMN interval_energy.flags IS 'Quality flags as bits, see table quality_flag';

CREATE TABLE series_break (
  series_id INTEGER NOT NULL,
  from_ms BIGINT NOT NULL,
  from_value DOUBLE NOT NULL,
  to_ms BIGINT NOT NULL,
  to_value DOUBLE NOT NULL
);
COMMENT ON TABLE series_break IS 'Steps of a register between neighbouring readings that no plain growth explains: falls, impossible jumps, the first step away from zero';

CREATE TABLE energy_event (
  series_id INTEGER NOT NULL,
  kind VARCHAR NOT NULL,
  from_ms BIGINT NOT NULL,
  to_ms BIGINT NOT NULL,
  value_before DOUBLE,
  value_after DOUBLE,
  energy_wh DOUBLE NOT NULL
);
COMMENT ON TABLE energy_event IS 'What happened to a series: resets, glitches, spikes, rebases, rollovers, carry-over, with times and amounts';
COMMENT ON COLUMN energy_event.from_ms IS 'glitch and spike: the first reading left out; the others: the reading before';
COMMENT ON COLUMN energy_event.energy_wh IS 'Energy booked for the step itself';

CREATE TABLE daily_energy (
  day DATE NOT NULL,
  device UUID NOT NULL,
  source VARCHAR NOT NULL,
  energy_wh BIGINT NOT NULL,
  method VARCHAR NOT NULL,
  stream_id INTEGER NOT NULL,
  flags USMALLINT NOT NULL,
  coverage DOUBLE NOT NULL,
  status VARCHAR NOT NULL,
  version INTEGER NOT NULL,
  computed_at_ms BIGINT NOT NULL,
  batch_id BIGINT NOT NULL
);
COMMENT ON TABLE daily_energy IS 'Energy of each local day of the workgroup by device and source: the current version';
COMMENT ON COLUMN daily_energy.coverage IS 'Share of the day (0 to 1) that measurements cover';
COMMENT ON COLUMN daily_energy.status IS 'provisional, final or restated';
COMMENT ON COLUMN daily_energy.batch_id IS 'The newest batch that was taken in when this version was computed';

CREATE TABLE daily_energy_history (
  day DATE NOT NULL,
  device UUID NOT NULL,
  source VARCHAR NOT NULL,
  energy_wh BIGINT,
  method VARCHAR,
  flags USMALLINT,
  coverage DOUBLE,
  version INTEGER NOT NULL,
  computed_at_ms BIGINT NOT NULL,
  batch_id BIGINT NOT NULL
);
COMMENT ON TABLE daily_energy_history IS 'Every version a day has had; energy is null where a day was withdrawn';

CREATE TABLE quality_flag (
  bit USMALLINT NOT NULL,
  flag VARCHAR NOT NULL,
  meaning VARCHAR NOT NULL
);
INSERT INTO quality_flag VALUES
  (1, 'estimated', 'a boundary or a stretch was interpolated over more than two hours'),
  (2, 'reset', 'the register started again from zero'),
  (4, 'rollover', 'the register passed its declared modulus'),
  (8, 'rebase', 'the register jumped impossibly and stayed: no energy was booked for the jump'),
  (16, 'jitter', 'the register fell by less than its jitter; the high-water mark was held'),
  (32, 'spike', 'an impossible high reading was left out'),
  (64, 'gap', 'power was not integrated over a gap'),
  (128, 'partial', 'measurements cover only part of the day'),
  (256, 'incomplete', 'a source of the device has no energy for the day'),
  (512, 'carry_over', 'the morning showed the day before: not energy'),
  (1024, 'glitch', 'an impossible low excursion was left out');
COMMENT ON TABLE quality_flag IS 'The bits of flags';
