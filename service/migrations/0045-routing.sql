-- Which events a destination gets, and what its platform calls them: `event_names` and `filter` of
-- contract/routing.ts. A version that does not know the column sends every event under its own name.
alter table destinations add column routing jsonb not null default '{}';

comment on column destinations.routing is '{}: every event, under its own name';
