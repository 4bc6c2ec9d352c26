-- Limits by day, and breaks that remember how far ahead they were judged.

-- What was learnt before is learnt again from the readings, see RULES_VERSION in src/rollup/bind-streams.ts.
DROP TABLE series_quarter;
DROP TABLE series_day;
CREATE TABLE series_quarter (
  series_id INTEGER NOT NULL,
  interval_start_ms BIGINT NOT NULL,
  power_w DOUBLE,
  resolution DOUBLE,
  steps_ms BIGINT NOT NULL,
  step_count INTEGER NOT NULL,
  change_count INTEGER NOT NULL
);
COMMENT ON TABLE series_quarter IS 'What the pairs of readings look like that end in a 15-minute interval, of series that have a limit to learn: a new reading costs a look at its own quarter of an hour';
CREATE TABLE series_day (
  series_id INTEGER NOT NULL,
  utc_day INTEGER NOT NULL,
  power_w DOUBLE,
  resolution DOUBLE,
  step_ms BIGINT,
  step_count INTEGER NOT NULL,
  change_count INTEGER NOT NULL,
  learnt_power_w DOUBLE,
  usual_power_w DOUBLE,
  learnt_resolution DOUBLE,
  learnt_step_ms BIGINT
);
COMMENT ON TABLE series_day IS 'What a series looks like on each UTC day (days since 1970), from its quarters, and the limits that hold on that day. They follow from the day, the 27 days before it and the days that come before it is closed, never from later ones';
COMMENT ON COLUMN series_day.power_w IS 'Usual power (W) of a growing register, of power and interval readings a quarter of what two in a row agree on in the second busiest quarter of an hour; rounded up to a power of two so that it seldom changes';
COMMENT ON COLUMN series_day.resolution IS 'Smallest growth between two readings (Wh), without the finest tenth of the quarters';
COMMENT ON COLUMN series_day.step_ms IS 'Usual time between two readings (ms)';
COMMENT ON COLUMN series_day.step_count IS 'Pairs of readings, up to what is enough to know the usual time between them';
COMMENT ON COLUMN series_day.change_count IS 'Pairs of readings that differ, up to what is enough to learn from';
COMMENT ON COLUMN series_day.learnt_power_w IS 'The most power (W) that is plausible on the day; null where it is configured, or too few readings are known';
COMMENT ON COLUMN series_day.usual_power_w IS 'Of a register that restarts every day: the usual power (W) of its busier days';
COMMENT ON COLUMN series_day.learnt_resolution IS 'Smallest growth between two readings (Wh) that holds on the day; null where the jitter is configured, or too few readings are known';
COMMENT ON COLUMN series_day.learnt_step_ms IS 'Usual time between two readings (ms) that holds on the day, of power and interval readings';

ALTER TABLE series DROP COLUMN learnt_power_w;
ALTER TABLE series DROP COLUMN usual_power_w;
ALTER TABLE series DROP COLUMN steady_power_w;
COMMENT ON COLUMN series.resolution IS 'Smallest growth between two readings (Wh), as last learnt';
COMMENT ON COLUMN series.step_ms IS 'Longest usual time between two readings (ms), as learnt: how far a reading of an interval may reach';

DELETE FROM series_break;
DELETE FROM energy_event;
ALTER TABLE series_break ADD COLUMN decided_ms BIGINT;
COMMENT ON COLUMN series_break.decided_ms IS 'Where the register is believed at this break: up to when readings were looked at to decide everything up to here. Null where it is not believed';
