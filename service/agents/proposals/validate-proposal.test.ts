import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { validateDryRun, validateProposal } from './validate-proposal.ts'

const ACCOUNT = 12

function proposal(changes: object = {}, action: object = {}) {
  return {
    actions: [
      {
        type: 'increase_budget',
        params: { new_daily_budget_minor: 12_000 },
        target_entity: { type: 'campaign', id: '901', name: null },
        rationale: 'It sells.',
        ...action,
      },
    ],
    rationale: 'More of what sells.',
    idempotency_key: 'key-1',
    evidence: [{ source_tool: 'get_performance', fields_used: ['ledger.events.0'] }],
    target_source: 'human_supplied',
    ...changes,
  }
}

/** The invalid fields of a body. */
function invalidFields(
  body: unknown,
  validate: (body: unknown, account: number) => unknown = validateProposal,
) {
  try {
    validate(body, ACCOUNT)
    return []
  } catch (error) {
    const { status, errors = {} } = error as Refusal
    assert.equal(status, 422)
    for (const message of Object.values(errors).flat()) assert.match(message, /^The .*\.$/)
    return Object.keys(errors).sort()
  }
}

it('returns a valid proposal unchanged', () => {
  const body = proposal({ account_id: ACCOUNT, rationale: '😀'.repeat(4_000) })
  assert.deepEqual(validateProposal(body, ACCOUNT), body)
  const rest = { idempotency_key: '😀'.repeat(64) }
  assert.deepEqual(invalidFields(proposal(rest, { rationale: '😀'.repeat(2_000) })), [])
})

const INVALID: [string, object, object?][] = [
  ['account_id', { account_id: ACCOUNT + 1 }],
  ['account_id', { account_id: '12' }],
  ['rationale', { rationale: '' }],
  ['rationale', { rationale: ' \n' }],
  ['rationale', { rationale: 'a'.repeat(4_001) }],
  ['rationale', { rationale: 'a\0b' }],
  ['rationale', { rationale: 'half \ud83d' }],
  ['idempotency_key', { idempotency_key: '  ' }],
  ['idempotency_key', { idempotency_key: 'k'.repeat(65) }],
  ['idempotency_key', { idempotency_key: '\0' }],
  ['idempotency_key', { idempotency_key: 7 }],
  ['target_source', { target_source: 'agent_chosen' }],
  ['actions', { actions: [] }],
  ['actions', { actions: 'pause everything' }],
  ['actions.0', { actions: ['pause'] }],
  ['evidence', { evidence: [] }],
  ['evidence', { evidence: Array(4).fill(proposal().evidence[0]) }],
  ['evidence.0.source_tool', { evidence: [{ source_tool: 'browse', fields_used: ['a'] }] }],
  ['evidence.0.fields_used', { evidence: [{ source_tool: 'get_action', fields_used: [] }] }],
  [
    'evidence.0.fields_used.1',
    { evidence: [{ source_tool: 'get_action', fields_used: ['a', 'b\0'] }] },
  ],
  [
    'evidence.0.fields_used.0',
    { evidence: [{ source_tool: 'get_action', fields_used: ['\udc00'] }] },
  ],
  [
    'evidence.0.action_index',
    { evidence: [{ source_tool: 'get_action', fields_used: ['a'], action_index: 1 }] },
  ],
  [
    'evidence.0.action_index',
    { evidence: [{ source_tool: 'get_action', fields_used: ['a'], action_index: 25 }] },
  ],
  ['actions.0.type', {}, { type: 'delete' }],
  ['actions.0.rationale', {}, { rationale: '\t' }],
  ['actions.0.rationale', {}, { rationale: 'a'.repeat(2_001) }],
  ['actions.0.rationale', {}, { rationale: '\0' }],
  ['actions.0.rationale', {}, { rationale: '\ud800' }],
  ['actions.0.params.new_daily_budget_minor', {}, { params: {} }],
  ['actions.0.params.new_daily_budget_minor', {}, { type: 'decrease_budget', params: {} }],
  ['actions.0.params.new_daily_budget_minor', {}, { params: { new_daily_budget_minor: 0 } }],
  ['actions.0.params.new_daily_budget_minor', {}, { params: { new_daily_budget_minor: 1.5 } }],
  ['actions.0.params.new_daily_budget_minor', {}, { params: { new_daily_budget_minor: '500' } }],
  ['actions.0.params.new_daily_budget_minor', {}, { params: { new_daily_budget_minor: 2 ** 31 } }],
  ['actions.0.target_entity.id', {}, { target_entity: { type: 'campaign', id: '0901' } }],
  ['actions.0.target_entity.id', {}, { target_entity: { type: 'campaign', id: '9'.repeat(21) } }],
  ['actions.0.target_entity.id', {}, { target_entity: { type: 'campaign', id: "1' or '1" } }],
  ['actions.0.target_entity.type', {}, { target_entity: { type: 'page', id: '901' } }],
  [
    'actions.0.target_entity.name',
    {},
    { target_entity: { type: 'campaign', id: '901', name: 'a\0' } },
  ],
  [
    'actions.0.target_entity.name',
    {},
    { target_entity: { type: 'campaign', id: '901', name: 'a'.repeat(256) } },
  ],
]

it('returns 422 naming the invalid field', () => {
  for (const [field, changes, action] of INVALID) {
    assert.deepEqual(
      invalidFields(proposal(changes, action)),
      [field],
      JSON.stringify([changes, action]),
    )
  }
})

it('returns 422 naming every invalid field', () => {
  const body = {
    ...proposal({ account_id: 99, rationale: '\0', evidence: [{ fields_used: ['\0'] }, 'see'] }),
    actions: [
      { type: 'increase_budget', params: { new_daily_budget_minor: 0 }, rationale: '' },
      7,
      { ...proposal().actions[0], rationale: '\0' },
    ],
  }
  assert.deepEqual(invalidFields(body), [
    'account_id',
    'actions.0.params.new_daily_budget_minor',
    'actions.0.rationale',
    'actions.0.target_entity',
    'actions.1',
    'actions.2.rationale',
    'evidence.0.fields_used.0',
    'evidence.0.source_tool',
    'evidence.1',
    'rationale',
  ])
})

it('returns 422 for unknown fields, including other account IDs', () => {
  assert.deepEqual(invalidFields(proposal({ workspace_id: 1 })), ['workspace_id'])
  assert.deepEqual(invalidFields(proposal({}, { account_id: 1 })), ['actions.0.account_id'])
  assert.deepEqual(invalidFields(proposal({}, { params: { new_daily_budget_minor: 5, cap: 1 } })), [
    'actions.0.params.cap',
  ])
  const target_entity = { type: 'campaign', id: '901', ad_account_id: 1 }
  assert.deepEqual(invalidFields(proposal({}, { target_entity })), [
    'actions.0.target_entity.ad_account_id',
  ])
})

it('returns 422 naming each action with the entity of an earlier one', () => {
  const [action] = proposal().actions
  const other = { ...action, target_entity: { type: 'ad_set', id: '901' } }
  const again = { ...action, target_entity: { type: 'campaign', id: '901', name: 'Autumn' } }
  const actions = [action, other, again, action]
  assert.deepEqual(invalidFields(proposal({ actions })), [
    'actions.2.target_entity',
    'actions.3.target_entity',
  ])
})

it('accepts 25 actions and rejects 26', () => {
  const actions = Array.from({ length: 26 }, (_, at) => ({
    ...proposal().actions[0],
    target_entity: { type: 'ad', id: String(at + 1) },
  }))
  assert.deepEqual(invalidFields(proposal({ actions: actions.slice(1) })), [])
  assert.deepEqual(invalidFields(proposal({ actions })), ['actions'])
})

it('returns 422 for a body that is not an object', () => {
  for (const body of [[], 'pause', 7, true]) assert.deepEqual(invalidFields(body), ['body'])
  for (const body of [null, undefined]) {
    const members = ['actions', 'evidence', 'idempotency_key', 'rationale', 'target_source']
    assert.deepEqual(invalidFields(body), members)
  }
})

it('validates a dry run by the same rules, and requires only actions', () => {
  const { actions } = proposal()
  assert.deepEqual(invalidFields({ actions, account_id: ACCOUNT }, validateDryRun), [])
  assert.deepEqual(
    invalidFields({ actions: [...actions, ...actions], account_id: 1 }, validateDryRun),
    ['account_id', 'actions.1.target_entity'],
  )
  assert.deepEqual(invalidFields(proposal(), validateDryRun), [])
  assert.deepEqual(invalidFields({ ...proposal(), rationale: ' ' }, validateDryRun), ['rationale'])
  assert.deepEqual(invalidFields({}, validateDryRun), ['actions'])
})
