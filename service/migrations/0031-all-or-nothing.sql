-- A proposal whose actions are all executed, or none. An earlier version does not know the column: it
-- stores proposals whose actions are independent, and would decide and execute the actions of this
-- kind one by one, so such proposals are for after the upgrade of every process.
alter table agent_batches add column all_or_nothing boolean not null default false;

comment on column agent_batches.all_or_nothing is
  'true: decided as one, and what was executed is restored if another action is not';
