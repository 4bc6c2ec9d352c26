-- 05 Macros: computations that several answers share.
--
-- Reads   nothing.
-- Writes  nothing. Macros, in the database in memory that computes the answers.
-- Why     An instant has one form in all answers.

-- name: create_report_macros
-- Creates the macros.
--
-- The text of an instant, YYYY-MM-DDTHH:MM:SS.mmmZ, whatever the time zone of the connection.
CREATE MACRO utc_text(instant) AS strftime(make_timestamp(epoch_us(instant)), '%Y-%m-%dT%H:%M:%S.%gZ');
