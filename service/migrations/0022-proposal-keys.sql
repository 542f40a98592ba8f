-- Idempotency keys of proposals are unique per principal and ad account. Earlier versions insert
-- with `on conflict (workspace_id, idempotency_key)`, so that constraint stays while they may run:
-- the caller's key moves to a column of its own, and the old column holds it with its scope.

alter table agent_batches add column proposal_key text;

update agent_batches set proposal_key = idempotency_key;

-- A row that an earlier version inserts has the caller's key in the old column only.
create function fill_proposal_key() returns trigger language plpgsql as $$
begin
  new.proposal_key := coalesce(new.proposal_key, new.idempotency_key);
  return new;
end $$;

create trigger agent_batches_proposal_key before insert on agent_batches
  for each row execute function fill_proposal_key();

alter table agent_batches alter column proposal_key set not null;

create unique index agent_batches_by_key
  on agent_batches (proposer_kind, proposer_id, ad_account_id, proposal_key);

comment on column agent_batches.proposal_key is 'as the caller sent it';
comment on column agent_batches.idempotency_key is
  'for earlier versions: unique in the workspace, so it names the principal and the ad account';
