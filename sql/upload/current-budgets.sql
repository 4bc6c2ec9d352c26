-- The budgets that count, of the meters, scenarios and kinds of period of the upload.
CREATE OR REPLACE TEMP TABLE current_row AS
WITH known AS (
  SELECT
    rowid AS row_id,
    concat_ws(chr(10), meter_code, scenario, CASE
      WHEN period_start = period_end THEN 'day'
      WHEN day(period_start) = 1 AND period_end = last_day(period_start) THEN 'month'
      WHEN dayofyear(period_start) = 1 AND period_end = make_date(year(period_start), 12, 31) THEN 'year'
      ELSE 'other'
    END) AS key,
    period_start - DATE '1970-01-01' AS start_at,
    period_end - DATE '1970-01-01' + 1 AS end_at,
    energy_wh::DOUBLE AS energy_wh,
    NULL::VARCHAR AS direction,
    scenario AS detail,
    revision,
    uploaded_at_ms AS received_at_ms
  FROM budget
  WHERE replaced_by IS NULL
)
SELECT * FROM known WHERE key IN (SELECT key FROM incoming);
