-- A person may propose to undo a verified action. The proposal has the person as its proposer. An
-- earlier version looks the person up as an execution token, and so does not execute such a proposal.
alter table agent_batches drop constraint agent_batches_proposer_kind_check;
alter table agent_batches add constraint agent_batches_proposer_kind_check
  check (proposer_kind in ('connection', 'execution_token', 'person'));

alter table agent_batches add column undoes integer;
comment on column agent_batches.undoes is 'the action that the only action of this batch undoes';
create index agent_batches_by_undone_action on agent_batches (undoes) where undoes is not null;
