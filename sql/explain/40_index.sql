-- 40 Index: the index of a register at the bounds of the day.
--
-- Reads   index_line, reading_pair, silence_shape, needs_full_index, midnight_anchor (temporary, of chapters
--         40 to 64 of the roll-up).
-- Writes  nothing. Index in Wh, instants in ms since 1970.
-- Why     The energy of the day is the difference of two rounded values of the index. A person can check it
--         by hand.

-- name: read_lines
-- Returns the lines of a traced register ($series_id) that reach into the day ($start_ms, $end_ms). The
-- columns of the shape have the values where the day cuts the line, if power beside the register shapes it
-- (see collect_silence_shape in chapter 64 of the roll-up).
-- Columns:
--   begin_ms, begin_wh, end_ms, end_wh         the line
--   covered, flags
--   from_ms, from_wh, from_rounded_wh          where its part inside the day begins, also rounded
--   to_ms, to_wh, to_rounded_wh                where its part inside the day ends, also rounded
--   from_share, from_power_wh, from_known_ms   of the shape at the start of the day; null: no power shapes
--                                              the line
--   to_share, to_power_wh, to_known_ms         of the shape at the end of the day
--   power_wh, known_ms                         of the shape of the whole silence
WITH line AS (
  -- The lines of the register: lines of the index, or pairs of readings if it only grows.
  SELECT from_ms AS begin_ms, from_wh AS begin_wh, to_ms AS end_ms, to_wh AS end_wh, covered, flags
  FROM index_line
  WHERE series_id = $series_id
  UNION ALL BY NAME
  SELECT from_ms AS begin_ms, from_value AS begin_wh, to_ms AS end_ms, to_value AS end_wh, true AS covered, 0 AS flags
  FROM reading_pair
  WHERE series_id = $series_id AND from_ms IS NOT NULL AND series_id NOT IN (SELECT series_id FROM needs_full_index)
), shape AS (
  -- The shape of the silences of the register.
  SELECT * FROM silence_shape WHERE series_id = $series_id
), cut_line AS (
  -- The lines that reach into the day, cut at its start and its end.
  SELECT line.*, from_shape, to_shape,
    greatest(begin_ms, $start_ms::BIGINT) AS from_ms, least(end_ms, $end_ms::BIGINT) AS to_ms,
    CASE
      WHEN begin_ms >= $start_ms::BIGINT THEN begin_wh
      ELSE index_at($start_ms::BIGINT, begin_ms, begin_wh, end_ms, end_wh, from_shape.share)
    END AS from_wh,
    CASE
      WHEN end_ms <= $end_ms::BIGINT THEN end_wh
      ELSE index_at($end_ms::BIGINT, begin_ms, begin_wh, end_ms, end_wh, to_shape.share)
    END AS to_wh
  FROM line
  LEFT JOIN shape AS from_shape
    ON from_shape.interval_index = interval_of($start_ms::BIGINT) AND begin_ms < $start_ms::BIGINT
  LEFT JOIN shape AS to_shape
    ON to_shape.interval_index = interval_of($end_ms::BIGINT) AND end_ms > $end_ms::BIGINT
  WHERE end_ms > $start_ms::BIGINT AND begin_ms < $end_ms::BIGINT
)
SELECT begin_ms::DOUBLE AS begin_ms, begin_wh, end_ms::DOUBLE AS end_ms, end_wh, covered, flags,
  from_ms::DOUBLE AS from_ms, from_wh, round(from_wh)::DOUBLE AS from_rounded_wh,
  to_ms::DOUBLE AS to_ms, to_wh, round(to_wh)::DOUBLE AS to_rounded_wh,
  from_shape.share AS from_share, from_shape.nwh / nwh_per_wh() AS from_power_wh,
  from_shape.known_ms::DOUBLE AS from_known_ms, to_shape.share AS to_share,
  to_shape.nwh / nwh_per_wh() AS to_power_wh, to_shape.known_ms::DOUBLE AS to_known_ms,
  coalesce(from_shape.nwh_all, to_shape.nwh_all) / nwh_per_wh() AS power_wh,
  coalesce(from_shape.known_ms_all, to_shape.known_ms_all)::DOUBLE AS known_ms
FROM cut_line
ORDER BY end_ms, begin_ms;

-- name: find_midnight_anchor
-- Returns the midnights of a traced lifetime register ($series_id) whose value comes from a daily register
-- beside it.
-- Columns:
--   begin_ms, end_ms   the silence over this midnight
--   begin_wh, end_wh   the index at both ends
--   midnight_ms
--   midnight_value     index at midnight, Wh
SELECT from_ms::DOUBLE AS begin_ms, from_wh AS begin_wh, to_ms::DOUBLE AS end_ms, to_wh AS end_wh,
  midnight_ms::DOUBLE AS midnight_ms, midnight_value
FROM midnight_anchor WHERE series_id = $series_id;
