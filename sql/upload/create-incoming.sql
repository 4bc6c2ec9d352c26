-- The rows of an upload. key: what they may not overlap within; start_at, end_at: as in the table that they go to, days as days since 1970 and
-- the end exclusive; energy_wh: Wh; revision and is_same: decided by comparing.
CREATE OR REPLACE TEMP TABLE incoming (
  line BIGINT, key VARCHAR, meter_code VARCHAR, start_at BIGINT, end_at BIGINT, energy_wh DOUBLE, direction VARCHAR, detail VARCHAR, revision INTEGER, is_same BOOLEAN
);
