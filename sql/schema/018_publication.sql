-- Which commit of the lake belongs to this warehouse.

CREATE TABLE publication (
  state VARCHAR NOT NULL,
  sequence BIGINT NOT NULL,
  nonce VARCHAR NOT NULL
);
COMMENT ON TABLE publication IS 'The commits of the lake that belong to this warehouse: at most one row for each state. The newest commit of the lake must be one of them. Otherwise the warehouse or the lake is an older copy';
COMMENT ON COLUMN publication.state IS 'published: the last commit, stored in the transaction that published it; planned: the next commit, stored before it is created';
COMMENT ON COLUMN publication.sequence IS 'Number of the generation';
COMMENT ON COLUMN publication.nonce IS 'Random value of the commit, 32 hexadecimal digits';
