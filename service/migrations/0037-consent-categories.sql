-- What the categories of a tracker's consent platform mean, by their IDs: `{"C0006":
-- "advertising"}`. A version that does not know this column reads the IDs by its own table alone.
alter table trackers add column consent_categories jsonb not null default '{}';
