import type { ActionStatus, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Database } from '../../../service/runtime/db/database.ts'

/** One transition of an action, as recorded by the store. */
export interface ActionTransition {
  actionId: number
  /** Null when the action was created. */
  from: ActionStatus | null
  to: ActionStatus
  /** The status stays `executing`; the change is requested from the platform for the first time. */
  isRequest: boolean
  /** The state that the transition depends on, read in the same transaction. */
  context: TransitionContext
}

export interface TransitionContext {
  accountStatus: string
  mode: string
  allowedTypes: string[] | null
  isCredentialLive: boolean
  isAnswerable: boolean
  deciderRole: string | null
  otherDeciders: number
  /** The target entity, including the transaction's own changes. */
  entity: (Pick<EntityState, 'status' | 'version'> & { daily_budget_minor: number | null }) | null
}

/** One change of a simulated entity. */
export interface EntityChange {
  transaction: string
  adAccountId: number
  type: string
  id: string
  versionBefore: number
  /** The entity after the change. */
  after: TransitionContext['entity']
  /** The idempotency key of the executor; null for an external change. */
  key: string | null
  /** Whether an earlier transaction committed the request with this key. */
  isRequested: boolean
}

/**
 * Adds triggers that record every transition of an action with the state it depends on, and every
 * change of an entity. The final state alone cannot show what happened in between.
 */
export async function recordActionTransitions({ pool }: Database): Promise<void> {
  await pool.query(CREATE_TABLES)
  await pool.query(CREATE_TRANSITION_TRIGGER)
  await pool.query(CREATE_CHANGE_TRIGGER)
  await pool.query(
    `create trigger record_action_transition after insert or update on agent_actions
     for each row execute function record_action_transition()`,
  )
  await pool.query(
    `create trigger record_entity_change after update on ad_entities
     for each row execute function record_entity_change()`,
  )
}

const CREATE_TABLES = `
  create table recorded_transitions (
    position bigint generated always as identity primary key, is_request boolean not null,
    workspace_id integer not null, action_id integer not null, status_before text,
    status_after text not null, context jsonb not null
  );
  create table recorded_changes (
    position bigint generated always as identity primary key, transaction text not null,
    ad_account_id integer not null, type text not null, id text not null,
    version_before integer not null, version_after integer not null, after jsonb not null,
    key text, is_requested boolean not null
  )`

const CREATE_TRANSITION_TRIGGER = `
  create function record_action_transition() returns trigger language plpgsql as $$
  declare batch agent_batches; context jsonb; is_request boolean = false;
  begin
    if tg_op = 'UPDATE' and new.status = old.status then
      is_request = old.change_requested_at is null and new.change_requested_at is not null;
      if not is_request then return null; end if;
    end if;
    select * into batch from agent_batches where id = new.batch_id;
    context = jsonb_build_object(
      'accountStatus', (select status from ad_accounts where id = new.ad_account_id),
      'mode', coalesce((select execution_mode from agent_policies
        where workspace_id = new.workspace_id), 'suggest_only'),
      'allowedTypes', (select limits -> 'allowed_types' from agent_policies
        where workspace_id = new.workspace_id),
      'isCredentialLive', case batch.proposer_kind
        when 'connection' then exists (select from agent_connections
          where id = batch.proposer_id and revoked_at is null and grant_id is not null
            and ad_account_id = new.ad_account_id)
        else exists (select from execution_tokens
          where id = batch.proposer_id and revoked_at is null and expires_at > new.updated_at
            and ad_account_id = new.ad_account_id) end,
      'isAnswerable', exists (select from members join people.users person on person.id = user_id
        where workspace_id = new.workspace_id and user_id = batch.person_id and role = 'owner'
          and person.status = 'active'),
      'deciderRole', (select role from members
        where workspace_id = new.workspace_id and user_id = new.decided_by),
      'otherDeciders', (select count(*) from members join people.users person on person.id = user_id
        where workspace_id = new.workspace_id and user_id <> batch.person_id
          and role in ('owner', 'admin') and person.status = 'active'),
      'entity', (select jsonb_build_object('status', status, 'version', version,
          'daily_budget_minor', daily_budget_minor)
        from ad_entities where ad_account_id = new.ad_account_id and type = new.target_type
          and id = new.target_id));
    insert into recorded_transitions (is_request, workspace_id, action_id, status_before,
      status_after, context)
    values (is_request, new.workspace_id, new.id,
      case when tg_op = 'UPDATE' then old.status end, new.status, context);
    return null;
  end $$`

const CREATE_CHANGE_TRIGGER = `
  create function record_entity_change() returns trigger language plpgsql as $$
  declare requested boolean;
  begin
    if new.version = old.version then return null; end if;
    select xmin <> pg_current_xact_id()::xid and case
        when new.last_change_key like '%-rollback' then rollback_requested_at is not null
        else change_requested_at is not null end
      into requested from agent_actions
      where id = split_part(new.last_change_key, '-', 2)::integer;
    insert into recorded_changes (transaction, ad_account_id, type, id, version_before,
      version_after, after, key, is_requested)
    values (pg_current_xact_id()::text, new.ad_account_id, new.type, new.id, old.version,
      new.version, jsonb_build_object('status', new.status, 'version', new.version,
        'daily_budget_minor', new.daily_budget_minor), new.last_change_key,
      coalesce(requested, false));
    return null;
  end $$`

/** Every transition in a workspace, oldest first. */
export async function readActionTransitions(
  { pool }: Database,
  workspaceId: number,
): Promise<ActionTransition[]> {
  const { rows } = await pool.query(
    'select * from recorded_transitions where workspace_id = $1 order by position',
    [workspaceId],
  )
  return rows.map(row => ({
    actionId: row.action_id,
    from: row.status_before,
    to: row.status_after,
    isRequest: row.is_request,
    context: row.context,
  }))
}

/** Every entity change in these ad accounts, oldest first. */
export async function readEntityChanges(
  { pool }: Database,
  adAccountIds: readonly number[],
): Promise<EntityChange[]> {
  const { rows } = await pool.query(
    'select * from recorded_changes where ad_account_id = any($1) order by position',
    [adAccountIds],
  )
  return rows.map(row => ({
    transaction: row.transaction,
    adAccountId: row.ad_account_id,
    type: row.type,
    id: row.id,
    versionBefore: row.version_before,
    after: row.after,
    key: row.key,
    isRequested: row.is_requested,
  }))
}
