-- Lifetime registers in context of which neighbouring readings say all there is. A table of its own, because the planner then sees how few
-- they are beside their steps.
-- plain_register: series_id
CREATE OR REPLACE TEMP TABLE plain_register AS
SELECT series_id FROM context WHERE method = 'total_energy' AND series_id NOT IN (SELECT series_id FROM troubled);
