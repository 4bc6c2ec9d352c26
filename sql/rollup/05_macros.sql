-- 05 Macros: computations that several chapters share.
--
-- Reads   nothing. The constants that the macros use are macros too: src/rollup/rule-macros.ts makes them
--         from src/rollup/rule-constants.ts.
-- Writes  nothing. Macros of the connection, grouped by what they compute.
-- Why     A rule that two chapters need stands here once, with its reason.

-- name: create_time_macros
-- Creates the macros of time, energy and power.
--
-- The number of the interval in which an instant lies: its start, divided by 15 minutes.
CREATE OR REPLACE TEMP MACRO interval_of(ms) AS ms // interval_ms();
-- The start of an interval.
CREATE OR REPLACE TEMP MACRO start_ms_of(interval_index) AS interval_index * interval_ms();
-- The number of the UTC day in which an instant lies, in days since 1970.
CREATE OR REPLACE TEMP MACRO utc_day(ms) AS (ms // day_ms())::INTEGER;
-- The energy of a power over a time.
CREATE OR REPLACE TEMP MACRO wh_of(power_w, ms) AS power_w * ms / hour_ms();
-- The average power of an energy over a time.
CREATE OR REPLACE TEMP MACRO power_of(wh, ms) AS wh * hour_ms() / ms;
-- The power at an instant of a straight line.
CREATE OR REPLACE TEMP MACRO power_at(at_ms, from_ms, from_w, to_ms, to_w) AS
  from_w + (to_w - from_w) * ((at_ms - from_ms) / (to_ms - from_ms));
-- The instant at which a straight line of power crosses zero; null if it does not.
CREATE OR REPLACE TEMP MACRO crosses_zero_at(from_ms, from_w, to_ms, to_w) AS CASE
  WHEN from_w * to_w < 0 THEN from_ms + (to_ms - from_ms) * (from_w / (from_w - to_w))
END;

-- name: create_kind_macros
-- Creates the macros of methods and of kinds of events.
--
-- True for the methods of registers.
CREATE OR REPLACE TEMP MACRO is_register(method) AS method IN ('total_energy', 'daily_energy');
-- True for events that leave readings out. The other kinds of events connect two readings.
CREATE OR REPLACE TEMP MACRO is_left_out(kind) AS kind IN ('glitch', 'spike', 'standstill');
-- The quality flag of an event.
CREATE OR REPLACE TEMP MACRO event_flag(kind) AS CASE kind
  WHEN 'reset' THEN flag('reset')
  WHEN 'register_change' THEN flag('reset')
  WHEN 'rollover' THEN flag('rollover')
  WHEN 'rebase' THEN flag('rebase')
  WHEN 'glitch' THEN flag('glitch')
  WHEN 'spike' THEN flag('spike')
  WHEN 'standstill' THEN flag('estimated')
  ELSE 0
END;

-- name: create_value_macros
-- Creates the macros of values and readings.
--
-- The largest valid value (Wh or W) of a method.
CREATE OR REPLACE TEMP MACRO value_max(method) AS CASE method
  WHEN 'power_curve' THEN power_max_w()
  WHEN 'interval_energy' THEN interval_max_wh()
  ELSE register_max_wh()
END;
-- The largest value that is valid for every method.
CREATE OR REPLACE TEMP MACRO least_value_max() AS
  least(value_max('power_curve'), value_max('interval_energy'), value_max('total_energy'));
-- True for a number that a device sends if it has no value: the smallest or the largest number of an integer
-- type. is_smallest_integer and is_largest_integer have those of 32 and 64 bits, is_end_of_16_bits has those
-- of 16 bits.
CREATE OR REPLACE TEMP MACRO is_smallest_integer(number) AS number IN (-2147483648, -9223372036854775808);
CREATE OR REPLACE TEMP MACRO is_largest_integer(number) AS
  number IN (2147483647, 4294967295, 9223372036854775807, 18446744073709551615);
CREATE OR REPLACE TEMP MACRO is_end_of_16_bits(number) AS number IN (-32768, 32767, 65535);
-- The rank of a reading among others of the same series and time: the one with the highest rank is used.
-- collect_superseded keeps the stored reading if the same message id and value come again.
CREATE OR REPLACE TEMP MACRO reading_rank(message_id, stream_offset, batch_id, value) AS
  row(coalesce(message_id, -1), coalesce(stream_offset, 0), batch_id, value);
-- The largest power of ten (Wh) of which a value is a multiple, from 0.001 to 1,000,000.
CREATE OR REPLACE TEMP MACRO decimal_resolution(value) AS CASE
  WHEN abs(value - round(value, 2)) >= float_tolerance_wh() THEN 0.001
  WHEN abs(value - round(value, 1)) >= float_tolerance_wh() THEN 0.01
  WHEN abs(value - round(value)) >= float_tolerance_wh() THEN 0.1
  WHEN abs(value - round(value, -1)) >= float_tolerance_wh() THEN 1
  WHEN abs(value - round(value, -2)) >= float_tolerance_wh() THEN 10
  WHEN abs(value - round(value, -3)) >= float_tolerance_wh() THEN 100
  WHEN abs(value - round(value, -4)) >= float_tolerance_wh() THEN 1000
  WHEN abs(value - round(value, -5)) >= float_tolerance_wh() THEN 10000
  WHEN abs(value - round(value, -6)) >= float_tolerance_wh() THEN 100000
  ELSE 1000000
END;

-- name: create_limit_macros
-- Creates the macros of limits. Each takes the configured value and what was learnt. A value that is not
-- configured or not learnt is null.
--
-- The limit (W): the configured one, else the learnt one of the day, else the highest one.
CREATE OR REPLACE TEMP MACRO power_limit(configured_w, learnt_w) AS
  coalesce(configured_w, learnt_w, learnt_power_max_w());
-- The limit (W) of a method; null: none. Net registers have none. Power and interval readings have none until
-- one is learnt.
CREATE OR REPLACE TEMP MACRO method_limit(method, net, configured_w, learnt_w) AS CASE
  WHEN net THEN NULL
  WHEN is_register(method) THEN power_limit(configured_w, learnt_w)
  ELSE coalesce(configured_w, learnt_w)
END;
-- The limit (W) after a restart. A learnt limit is much higher than the usual power, and an average over a
-- restart looks like a restart. So if the limit is learnt, a register can count only a few times its usual
-- power after a restart.
CREATE OR REPLACE TEMP MACRO power_limit_after_reset(configured_w, learnt_w, usual_w) AS CASE
  WHEN configured_w IS NULL THEN least(power_limit(NULL, learnt_w), after_reset_times() * usual_w)
  ELSE configured_w
END;
-- The jitter (Wh). It is 0 if no resolution is known.
CREATE OR REPLACE TEMP MACRO jitter(configured_wh, resolution_wh) AS
  coalesce(configured_wh, jitter_resolutions() * resolution_wh, 0);
-- The time (ms) of an average of power, or of the energy of an interval reading.
CREATE OR REPLACE TEMP MACRO reading_interval(configured_ms, step_ms) AS
  coalesce(configured_ms, step_ms, interval_ms());
-- The time (ms) by which a reading can reach into intervals without readings: that of an average or of an
-- interval reading; 0 for readings of an instant.
CREATE OR REPLACE TEMP MACRO reach(method, sampling, configured_ms, step_ms) AS CASE
  WHEN method = 'interval_energy' OR (method = 'power_curve' AND sampling = 'interval_average')
    THEN coalesce(configured_ms, greatest(step_ms, interval_ms()))
  ELSE 0
END;
-- The longest gap (ms) between two samples of power over which it is integrated.
CREATE OR REPLACE TEMP MACRO max_gap(configured_ms, step_ms) AS
  coalesce(
    configured_ms,
    greatest(gap_steps_min() * step_ms, least(gap_steps() * step_ms, gap_max_ms())),
    gap_max_ms()
  );
-- True if a value of power, or the average power of an interval reading over reading_ms, is beyond the limit.
CREATE OR REPLACE TEMP MACRO is_beyond(value, method, reading_ms, limit_w) AS
  coalesce(
    CASE WHEN method = 'interval_energy' THEN power_of(abs(value), reading_ms) ELSE abs(value) END > limit_w,
    false
  );
-- True if a pair of readings can be a break. It does not use the rules of the series, because joining them to
-- every pair is expensive.
CREATE OR REPLACE TEMP MACRO is_suspect(value_before, from_ms, from_value, to_ms, to_value, least_power_w) AS
  to_value < from_value OR from_value < value_before OR from_value = 0 OR value_before = 0
    OR to_value - from_value > wh_of(least_power_w, to_ms - from_ms);

-- name: create_index_macros
-- Creates the macros of the index.
--
-- The index (Wh) at an instant between two readings. The growth is spread evenly over the time, or by a share
-- (0 to 1) if one is known.
CREATE OR REPLACE TEMP MACRO index_at(at_ms, from_ms, from_wh, to_ms, to_wh, share) AS CASE
  WHEN at_ms = to_ms THEN to_wh
  ELSE from_wh + coalesce((to_wh - from_wh) * share, (to_wh - from_wh) * (at_ms - from_ms) / (to_ms - from_ms))
END;
-- The same in whole Wh.
CREATE OR REPLACE TEMP MACRO index_wh(at_ms, from_ms, from_wh, to_ms, to_wh, share) AS
  round(index_at(at_ms, from_ms, from_wh, to_ms, to_wh, share))::BIGINT;
-- True if the time between two readings is a silence.
CREATE OR REPLACE TEMP MACRO is_silence(from_ms, to_ms) AS to_ms - from_ms > silence_ms();
-- True if an instant lies inside a silence over which the index changes, so that the index there is
-- interpolated.
CREATE OR REPLACE TEMP MACRO is_in_silence(at_ms, from_ms, from_wh, to_ms, to_wh) AS
  is_silence(from_ms, to_ms) AND from_wh <> to_wh AND at_ms < to_ms;

-- name: create_day_macros
-- Creates the macros of days.
--
-- By how much two energies of a day may always differ: a fixed energy, plus what both may not show yet
-- (tolerance_wh of day_candidate).
CREATE OR REPLACE TEMP MACRO least_difference_wh(tolerance_a_wh, tolerance_b_wh) AS
  contradiction_min_wh() + tolerance_a_wh + tolerance_b_wh;
-- True if two energies of a day differ by more than a share of the larger one plus least_wh. If the smaller
-- one covers less time, it has missed energy. So missed_share_times() times the missed share of the time is
-- added to the share.
CREATE OR REPLACE TEMP MACRO are_apart(wh_a, covered_a_ms, wh_b, covered_b_ms, share, least_wh) AS
  abs(wh_a - wh_b) > least_wh + greatest(abs(wh_a), abs(wh_b)) * (
    share + missed_share_times() * greatest(0, 1 - CASE
      WHEN abs(wh_a) < abs(wh_b) THEN covered_a_ms / covered_b_ms
      ELSE covered_b_ms / covered_a_ms
    END)
  );
-- The version of a day that changes. A day that is not stored (version_before is null) continues its history.
-- A day that is not over keeps its version.
CREATE OR REPLACE TEMP MACRO day_version(version_before, history_version, end_ms, now_ms) AS CASE
  WHEN version_before IS NULL THEN coalesce(history_version, 0) + 1
  WHEN end_ms <= now_ms THEN version_before + 1
  ELSE version_before
END;
-- The status of a day that changes. A final day becomes restated, even if the configured closing time is
-- longer now, because people have seen it.
CREATE OR REPLACE TEMP MACRO day_status(status_before, end_ms, now_ms, close_after_ms) AS CASE
  WHEN status_before IN ('final', 'restated') THEN 'restated'
  WHEN end_ms + close_after_ms > now_ms THEN 'provisional'
  ELSE 'final'
END;
