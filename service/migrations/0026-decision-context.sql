-- What a person approved: the policy and the totals of the day, what else was pending for the entity,
-- and recent changes of roles and the policy. Receipts contain it. A version that does not know the
-- column leaves it null.
alter table agent_actions add column decision_context jsonb;

comment on column agent_actions.decision_context is
  'null: nobody approved it, or an earlier version stored the approval';

-- A resume adds up the budgets of everything below its entity.
create index ad_entities_by_parent on ad_entities (ad_account_id, parent_type, parent_id);

-- The approver sees what else is pending for an entity.
create index agent_actions_pending_by_target on agent_actions (ad_account_id, target_type, target_id)
  where status = 'pending';

-- Approved suggestions count towards the totals of the day.
create index agent_actions_by_suggestion on agent_actions (ad_account_id, decided_at)
  where status = 'approved_without_execution';
