-- The growth between neighbouring values of the registers that the upload has touched, as rows to store. A register that fell
-- says nothing of its interval. energy_wh: Wh.
CREATE OR REPLACE TEMP TABLE incoming AS
WITH step AS (
  SELECT
    meter_code,
    at_ms,
    value_wh,
    direction,
    quality,
    lag(at_ms) OVER w AS before_ms,
    lag(value_wh) OVER w AS before_wh,
    lag(quality) OVER w AS before_quality
  FROM meter_register
  WHERE replaced_by IS NULL AND meter_code IN (SELECT meter_code FROM incoming)
  WINDOW w AS (PARTITION BY meter_code ORDER BY at_ms)
)
SELECT
  0::BIGINT AS line,
  meter_code AS key,
  meter_code,
  before_ms AS start_at,
  at_ms AS end_at,
  CASE WHEN value_wh >= before_wh THEN round(value_wh - before_wh, 3) END AS energy_wh,
  direction,
  CASE WHEN value_wh < before_wh THEN 'fault' WHEN quality = 'measured' THEN before_quality ELSE quality END AS detail,
  1::INTEGER AS revision,
  false AS is_same
FROM step
WHERE before_ms IS NOT NULL;
