-- Which names are tables of messages, because their number has a limit.

CREATE TABLE message_table (
  name_id INTEGER NOT NULL
);
COMMENT ON TABLE message_table IS 'The names that messages have as their table, also after the messages have left the warehouse';
COMMENT ON COLUMN message_table.name_id IS 'Name id of the table';

INSERT INTO message_table SELECT DISTINCT table_id FROM message;
