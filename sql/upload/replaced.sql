-- Rows that the upload replaces.
CREATE OR REPLACE TEMP TABLE replaced_row AS
SELECT DISTINCT row_id FROM overlap WHERE NOT is_same;
