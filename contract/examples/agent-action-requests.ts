/** As an agent sends them; the ad account is a simulated one of the demo (id 3). */
const CAMPAIGN = {
  type: 'campaign',
  id: '120200000000003001',
  name: 'Autumn collection - New customers',
}

const raise = {
  type: 'increase_budget',
  params: { new_daily_budget_minor: 13_500 },
  target_entity: CAMPAIGN,
  rationale: 'It sold out its budget before noon on each of the last seven days.',
}

const pause = {
  type: 'pause',
  params: {},
  target_entity: { type: 'ad', id: '120200000000003009' },
  rationale: 'It has had no purchase for two weeks.',
}

export const DRY_RUN_REQUEST = {
  actions: [raise, { ...pause, target_entity: { type: 'campaign', id: '999' } }],
}

export const PROPOSAL_REQUEST = {
  actions: [raise, pause],
  rationale: 'The owner asked to move money to the autumn collection.',
  idempotency_key: 'autumn-2026-11-21',
  evidence: [
    { source_tool: 'get_performance', fields_used: ['ledger.events.0.revenue'], action_index: 0 },
  ],
  target_source: 'human_supplied',
}

export const IMPOSSIBLE_REQUEST = {
  ...PROPOSAL_REQUEST,
  actions: [
    {
      ...pause,
      target_entity: { type: 'campaign', id: '120200000000003003', name: null },
      rationale: 'The season is over.',
    },
  ],
  idempotency_key: 'summer-2026-11-21',
}
