-- 05 File macros: how the text of a cell becomes a time or a number.
--
-- Reads   nothing.
-- Writes  nothing. Macros, in the database in memory that reads the file of an import or an upload.
-- Why     src/import/select-rows.ts composes a statement for each file. Its rules for text are here.

-- name: create_file_macros
-- Creates the macros.
--
-- Times in ISO 8601.
-- True if an offset or a Z follows the date.
CREATE MACRO has_zone(cell) AS
  ends_with(cell, 'Z') OR ends_with(cell, 'z') OR contains(cell, '+') OR contains(cell[11:], '-');
-- Excludes words that DuckDB knows, such as "epoch" and "infinity".
CREATE MACRO starts_with_digit(cell) AS cell >= '0' AND cell < ':';
-- DuckDB accepts no zone after a blank or after a time without seconds.
CREATE MACRO without_blank(cell) AS
  regexp_replace(upper(cell), '^(.{10})[T ](\S+) (\S+)$', '\1 \2\3');
CREATE MACRO with_seconds(cell) AS
  regexp_replace(without_blank(cell), '^(.{10})[T ](\d\d:\d\d)(Z|[+-]\d\d:?(\d\d)?)$', '\1 \2:00\3');
-- The instant of a time with a zone, in ms since 1970; null if it is no time.
CREATE MACRO zoned_ms(cell) AS epoch_ms(coalesce(
  try_cast(cell AS TIMESTAMPTZ),
  try_cast(without_blank(cell) AS TIMESTAMPTZ),
  try_cast(with_seconds(cell) AS TIMESTAMPTZ)
))::DOUBLE;

-- Numbers.
-- Excludes 1_000, which DuckDB accepts.
CREATE MACRO plain_number(cell) AS CASE WHEN NOT contains(cell, '_') THEN try_cast(cell AS DOUBLE) END;
-- The number of a cell, up to 2^53, because larger whole numbers lose digits. Excludes inf and nan, which
-- DuckDB accepts.
CREATE MACRO exact_number(number, cell) AS CASE
  WHEN NOT isfinite(number) THEN NULL
  WHEN abs(number) > 9007199254740992 AND regexp_full_match(trim(cell), '[+-]?\d+') THEN NULL
  ELSE number
END;
-- A cell that is not a number, as JSON. Large whole numbers keep their digits.
CREATE MACRO json_of(cell) AS CASE
  WHEN regexp_full_match(cell, '-?[1-9]\d{15,38}') THEN cell::JSON
  ELSE to_json(left(cell, 4096))
END;
