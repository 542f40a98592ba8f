-- Agents under control: what they propose, what people decide, what was done, and the audit log.

-- The log of a workspace is a chain: each entry holds the digest of the one before. `body` is the
-- canonical text that the digest is of; the columns beside it are read from it and from nothing else.
create table audit_entries (
  workspace_id integer not null references workspaces (id),
  sequence bigint not null check (sequence > 0),
  body text not null,
  hash bytea not null,
  action text not null generated always as (body::jsonb ->> 'action') stored,
  subject_type text not null generated always as (body::jsonb #>> '{subject,type}') stored,
  subject_id text not null generated always as (body::jsonb #>> '{subject,id}') stored,
  primary key (workspace_id, sequence)
);
create index audit_entries_by_subject
  on audit_entries (workspace_id, subject_type, subject_id, sequence);
create index audit_entries_by_action on audit_entries (workspace_id, action, sequence);

-- The last entry of each chain, signed with a key that the store does not hold: rows cut from the
-- end are missed. Locking its row is what keeps the entries of a workspace in one order.
create table audit_heads (
  workspace_id integer primary key references workspaces (id),
  sequence bigint not null check (sequence >= 0),
  hash bytea not null,
  signature bytea not null
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger audit_entries_append_only
  before update or delete or truncate on audit_entries
  for each statement execute function refuse_change();

-- How a workspace lets its agents act. No row: nobody has changed the policy that all begin with.
create table agent_policies (
  workspace_id integer primary key references workspaces (id),
  version integer not null,
  execution_mode text not null check (execution_mode in ('suggest_only', 'ask', 'auto_with_limits')),
  limits jsonb not null,
  changed_by integer not null,
  changed_at timestamptz not null
);

-- One submission of an agent: one to twenty-five actions. A repeated key is the same batch.
create table agent_batches (
  id integer generated always as identity primary key,
  workspace_id integer not null references workspaces (id),
  ad_account_id integer not null references ad_accounts (id),
  idempotency_key text not null,
  content_sha256 bytea not null,
  rationale text not null,
  target_source text not null,
  evidence jsonb not null,
  -- Who proposed: a connection or an execution token, and the person who answers for it.
  proposer_kind text not null check (proposer_kind in ('connection', 'execution_token')),
  proposer_id integer not null,
  proposer_name text not null,
  person_id integer not null,
  policy_version integer not null,
  policy_decision text not null check (policy_decision in ('allow', 'require_approval', 'block')),
  created_at timestamptz not null,
  -- Until then a person may decide.
  expires_at timestamptz not null,
  unique (workspace_id, idempotency_key)
);
create index agent_batches_by_account on agent_batches (workspace_id, ad_account_id, id);

create table agent_actions (
  id integer generated always as identity primary key,
  batch_id integer not null references agent_batches (id),
  position integer not null,
  workspace_id integer not null references workspaces (id),
  ad_account_id integer not null references ad_accounts (id),
  type text not null check (type in ('increase_budget', 'decrease_budget', 'pause', 'resume')),
  target_type text not null check (target_type in ('ad_account', 'campaign', 'ad_set', 'ad')),
  target_id text not null,
  target_name text,
  params jsonb not null,
  rationale text not null,
  status text not null check (status in (
    'pending', 'rejected', 'approved_without_execution', 'executing',
    'executed_pending_verification', 'verified', 'failed', 'execution_uncertain', 'rolled_back',
    'blocked')),
  -- Why it ended as it did, where its status alone does not say it.
  outcome text,
  policy_decision text not null check (policy_decision in ('allow', 'require_approval', 'block')),
  policy_reasons jsonb not null,
  policy_evidence jsonb not null,
  -- The entity as it was when the action was judged; null where there is no such entity.
  state_before jsonb,
  state_proposed jsonb,
  state_after jsonb,
  -- How much money a day it moves, in minor units of the account's currency; 0 for no budget.
  change_minor bigint not null default 0,
  decided_by integer,
  decided_at timestamptz,
  decision_reason text,
  execution_started_at timestamptz,
  executed_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (batch_id, position)
);
create index agent_actions_by_workspace on agent_actions (workspace_id, id);
create index agent_actions_pending on agent_actions (workspace_id, id) where status = 'pending';
create index agent_actions_pending_by_account on agent_actions (ad_account_id)
  where status = 'pending';
create index agent_actions_in_flight on agent_actions (updated_at)
  where status in ('executing', 'executed_pending_verification');
create index agent_actions_by_execution on agent_actions (ad_account_id, execution_started_at)
  where execution_started_at is not null;

-- What can be shown of an action that has ended: the document, and where the chain names it.
create table agent_receipts (
  action_id integer primary key references agent_actions (id),
  workspace_id integer not null references workspaces (id),
  document text not null,
  document_sha256 bytea not null,
  sequence bigint not null,
  hash bytea not null
);
create index agent_receipts_by_entry on agent_receipts (workspace_id, sequence);
create trigger agent_receipts_append_only
  before update or delete or truncate on agent_receipts
  for each statement execute function refuse_change();

-- Which tool a credential used last: get_account_state has to come first, and evidence is compared
-- with what was truly read.
create table agent_tool_uses (
  principal_kind text not null check (principal_kind in ('connection', 'execution_token')),
  principal_id integer not null,
  tool text not null,
  used_at timestamptz not null,
  primary key (principal_kind, principal_id, tool)
);

-- The simulated ad accounts that the executor changes (service/agents/executor/).
create table ad_entities (
  ad_account_id integer not null references ad_accounts (id),
  type text not null check (type in ('ad_account', 'campaign', 'ad_set', 'ad')),
  id text not null check (id ~ '^[1-9][0-9]{0,19}$'),
  parent_type text,
  parent_id text,
  name text not null,
  status text not null check (status in ('active', 'paused')),
  -- Null: it has no budget of its own.
  daily_budget_minor integer check (daily_budget_minor > 0),
  version integer not null,
  -- How the next change goes wrong, for rehearsals.
  next_fault text check (next_fault in ('ignored', 'altered')),
  changed_at timestamptz not null,
  primary key (ad_account_id, type, id),
  foreign key (ad_account_id, parent_type, parent_id) references ad_entities (ad_account_id, type, id)
);
