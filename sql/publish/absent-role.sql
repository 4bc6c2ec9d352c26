-- Roles that sites are declared not to have. Temp table declared_absent: see meters/declare-absent.
SELECT site, role FROM declared_absent ORDER BY site, role
