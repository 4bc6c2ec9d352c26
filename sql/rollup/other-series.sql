-- Series in context whose energy is not simply that of lifetime registers as neighbouring readings tell it. Those, because there are few or
-- none where much is computed at once, and leaving none out costs nothing.
-- other_series: series_id
CREATE OR REPLACE TEMP TABLE other_series AS
SELECT series_id FROM context WHERE method <> 'total_energy' OR series_id IN (SELECT series_id FROM troubled);
