-- Plain words: a view gets a name that says what it shows, and tables get comments that are easier to read.

DROP VIEW told_interval;
CREATE VIEW reported_interval AS
SELECT series_id, interval_start_ms, energy_wh, covered_ms, flags
FROM interval_energy i
WHERE NOT EXISTS (SELECT 1 FROM corrected_interval c WHERE c.series_id = i.series_id AND c.interval_start_ms = i.interval_start_ms)
UNION ALL
-- A corrected interval counts as covered in full: 15 minutes.
SELECT series_id, interval_start_ms, energy_wh, 900000, flags FROM corrected_interval;
COMMENT ON VIEW reported_interval IS 'Energy of each interval as reports show it: the corrected value if a person corrected the interval, else the measured value';

COMMENT ON TABLE energy_stream IS 'The configured fields that contain energy or power';
COMMENT ON COLUMN energy_stream.identity IS 'The settings that decide the value of a reading (table, field, method, unit and others), as JSON. Other settings make another stream';
COMMENT ON COLUMN energy_stream.settings IS 'All settings of the stream and the time zone of the days, as JSON, so that a change is seen. Null if the stream is no longer configured';
COMMENT ON COLUMN energy_stream.batch_id IS 'The last batch that was rolled up for this stream';
COMMENT ON TABLE declared_source IS 'The sources that the configuration declares for devices. If one of them has no energy on a day, the day is incomplete';
COMMENT ON TABLE series_quarter IS 'Statistics of the pairs of readings that end in a 15-minute interval, of series that learn limits. A new reading changes one row only';
COMMENT ON TABLE series_day IS 'Statistics of a series for each UTC day (days since 1970), from its quarters, and the limits of that day. The limits follow from the day, the 27 days before it and the days that end before it is closed';
COMMENT ON COLUMN series_day.power_w IS 'Usual power (W). Registers: the median over the quarters. Power and interval readings: a quarter of what two readings in a row show in the second busiest quarter. Rounded up to a power of two, so that it seldom changes';
COMMENT ON COLUMN series_day.resolution IS 'Smallest growth between two readings (Wh), without the finest tenth of the quarters';
COMMENT ON COLUMN series_day.step_count IS 'Number of pairs of readings, up to the number that is enough to know the usual time between readings';
COMMENT ON COLUMN series_day.change_count IS 'Number of pairs of readings that differ, up to the number that is enough to learn from';
COMMENT ON COLUMN series_day.learnt_power_w IS 'Learnt limit: the most power (W) that is possible on the day. Null if the limit is configured or too few readings are known';
COMMENT ON COLUMN series_day.usual_power_w IS 'Usual power (W) of the busier days, of a register that restarts every day';
COMMENT ON COLUMN series_day.learnt_resolution IS 'Resolution (Wh) that is used on the day. Null if the jitter is configured or too few readings are known';
COMMENT ON COLUMN series_day.learnt_step_ms IS 'Usual time between two readings (ms) that is used on the day, of power and interval readings';
COMMENT ON COLUMN series.step_ms IS 'Longest usual time between two readings (ms), learnt. An interval reading covers at most this time';
COMMENT ON COLUMN series.resolution IS 'Smallest growth between two readings (Wh), as last learnt';
COMMENT ON COLUMN reading.message_id IS 'The counter of the device, if it sends one. Of two readings with the same time, the higher counter is used, then the higher offset';
COMMENT ON COLUMN reading.batch_id IS 'The batch in which the reading landed';
COMMENT ON TABLE superseded_reading IS 'Valid readings that are not used, because another reading of the same series and time is used: repetitions, and values that were revised';
COMMENT ON COLUMN interval_energy.exact_nwh IS 'Energy before rounding, in billionths of a Wh. Null for registers, which are rounded on their own value. The intervals of a local day are rounded on their running sum';
COMMENT ON COLUMN interval_energy.last_value IS 'High-water mark (Wh) at the last valid reading in the interval (last_ms). The next interval is computed from here';
COMMENT ON COLUMN interval_energy.covered_ms IS 'Time of the interval that measurements cover (ms)';
COMMENT ON TABLE series_break IS 'Pairs of neighbouring readings that are not plain growth: falls, impossible jumps, the first steps away from zero; for power and interval readings: the step beyond the limit, and the step back';
COMMENT ON COLUMN series_break.decided_ms IS 'If the register is believed at this break: the time of the last reading that was needed to decide everything up to here. Null if it is not believed';
COMMENT ON TABLE energy_event IS 'What happened to a series: resets, rollovers, rebases, register changes, glitches, spikes and standstills, with times and energy';
COMMENT ON COLUMN energy_event.from_ms IS 'glitch, spike and standstill: the first reading that is left out; the others: the reading before the event';
COMMENT ON COLUMN energy_event.energy_wh IS 'Energy that is booked for the event (Wh)';
COMMENT ON COLUMN daily_energy.batch_id IS 'The newest batch that was rolled up when this version was computed';
COMMENT ON TABLE daily_energy_history IS 'Every version of a day. The energy is null if the day was withdrawn';
COMMENT ON COLUMN daily_energy_history.causes IS 'Causes of the version: stream, import or backfill (how new readings came), configuration, zone, learnt (new limits), rules (another version of Wattline), correction (a person), retried (a series that had been set aside). Empty if the day was not over; null in versions from before causes were kept';
COMMENT ON TABLE correction IS 'Corrections of people, and what they undid. A row is never changed or deleted';
COMMENT ON COLUMN correction.device IS 'The device. An undo has the device, the source, the day and the times of the correction that it undoes';
COMMENT ON COLUMN correction.table_name IS 'Only readings of this table are excluded. Null: of all tables';
COMMENT ON COLUMN correction.field IS 'Only readings of this field are excluded. Null: of all fields';
COMMENT ON COLUMN correction.day IS 'The local day, if the correction names a day';
COMMENT ON COLUMN correction.energy_wh IS 'Energy of the whole time (Wh), set or estimated. Null if readings are excluded, and for an undo';
COMMENT ON COLUMN correction.basis IS 'JSON: the data from which an estimate was computed. Null for other corrections';
COMMENT ON TABLE excluded_reading IS 'Readings that a correction excludes. They are not in table reading meanwhile. Both tables together have one reading for each series and time';
COMMENT ON TABLE corrected_interval IS 'Energy of intervals that was set or estimated. It replaces the measured energy of the series from which the day is read; interval_energy keeps the measured energy';
COMMENT ON VIEW excluded_range IS 'The time ranges of each series whose readings are excluded';
COMMENT ON VIEW known_reading IS 'All readings, excluded or not: one for each series and time';
COMMENT ON TABLE set_aside IS 'Series whose roll-up fails. The others are rolled up without them. Their readings are kept, and their days are flagged unavailable';
COMMENT ON COLUMN set_aside.since_ms IS 'The first time the roll-up failed with this series';
COMMENT ON COLUMN set_aside.error IS 'What failed, without values of readings';
COMMENT ON COLUMN set_aside.program_version IS 'The version of Wattline that failed. Another version tries again. Empty if a person asked to try again';
COMMENT ON TABLE rejected_reading IS 'Rejected readings: one row for each UTC day of the rejection, device, source, field and reason. Kept for 90 days';
COMMENT ON COLUMN rejected_reading.import_id IS 'The import that contained them; 0 if they are not from an import';
COMMENT ON COLUMN rejected_reading.readings IS 'Number of readings. A reading that several energy streams use counts once';
COMMENT ON COLUMN rejected_reading.first_ms IS 'First event time';
COMMENT ON COLUMN rejected_reading.last_ms IS 'Last event time';
COMMENT ON COLUMN rejected_reading.samples IS 'The first 20 readings, with the value as received. Nulls have no samples';
COMMENT ON TABLE pending_change IS 'Work that changed limits leave for later calls of the roll-up: whole devices, a bounded number in each call. Until then their intervals and days stay the same, and no batch is rolled up';
COMMENT ON COLUMN pending_change.kind IS 'touched (time that new readings touch), learnt (a UTC day whose limits have changed) or arrived (new readings of a quarter of an hour)';
COMMENT ON COLUMN pending_change.is_new IS 'True if there are new readings in that time';
COMMENT ON COLUMN pending_change.readings IS 'Number of readings on a day whose limits have changed; 0 for the other kinds';
COMMENT ON COLUMN pending_change.reach_ms IS 'The longest time that one reading of the series covers by itself, before or after the limits changed';
COMMENT ON COLUMN pending_change.batch_id IS 'The batch of the new readings; for the other kinds the last batch when the limits changed';
COMMENT ON COLUMN pending_change.complete_batch_id IS 'The last batch whose energy was complete before the limits changed';
