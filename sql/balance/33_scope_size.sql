-- How much a balance is computed of.
--
-- Reads  scope_member, role_span, role, scope_source
-- Writes one row: sources (that ever have a role in a scope), source_days (days of sources with a role)
SELECT
  (
    SELECT count(*)
    FROM role_span r
    JOIN scope_member m ON (m.device IS NULL OR m.device = r.device) AND (m.source IS NULL OR m.source = r.source)
    WHERE r.role IN (SELECT role FROM role)
  )::DOUBLE AS sources,
  (SELECT count(*) FROM scope_source)::DOUBLE AS source_days
