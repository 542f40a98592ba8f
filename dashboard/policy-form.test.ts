import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import {
  type PolicyForm,
  policyFormErrors,
  sharedMinorUnitDigits,
  toPolicyForm,
  toPolicySubmission,
} from './src/policy/policy-form.ts'

const NONE = {
  change_minor_max: null,
  daily_total_minor_max: null,
  weekly_total_minor_max: null,
  monthly_total_minor_max: null,
  entity_budget_minor_max: null,
  account_budget_minor_max: null,
}
const POLICY: ActionPolicy = {
  version: 3,
  execution_mode: 'ask',
  limits: {
    ...NONE,
    change_percent_max: 20,
    change_minor_max: 5_000,
    actions_per_day_max: 10,
    entity_budget_times_max: 5,
    active_spend_percent_max: 50,
    allowed_types: ['pause'],
    quiet_hours: null,
    currency_limits: [],
  },
  changed_at: null,
}

function limitsOf(form: PolicyForm): Record<string, unknown> {
  return (toPolicySubmission(form) as { limits: Record<string, unknown> }).limits
}

it('submits the same policy if nothing is changed', () => {
  const { version, execution_mode, limits } = POLICY
  const quiet = { ...limits, quiet_hours: { from: '22:00', until: '07:00' } }
  const unlimited = { ...limits, change_percent_max: null, change_minor_max: null }
  for (const currencies of [['JPY'], ['EUR'], []]) {
    for (const given of [limits, quiet, unlimited]) {
      const form = toPolicyForm({ ...POLICY, limits: given }, currencies)
      assert.deepEqual(toPolicySubmission(form), { version, execution_mode, limits: given })
    }
  }
})

it('uses the digits that all currencies share, otherwise minor units', () => {
  assert.equal(sharedMinorUnitDigits(['EUR']), 2)
  assert.equal(sharedMinorUnitDigits(['EUR', 'USD']), 2)
  assert.equal(sharedMinorUnitDigits(['JPY']), 0)
  assert.equal(sharedMinorUnitDigits(['EUR', 'JPY']), 0)
  assert.equal(sharedMinorUnitDigits([]), 0)
})

it('parses amounts with the digits that the person saw', () => {
  const read = (currencies: string[]) =>
    limitsOf({ ...toPolicyForm(POLICY, currencies), change_minor_max: '5000' }).change_minor_max
  assert.equal(read(['EUR']), 500_000)
  assert.equal(read(['EUR', 'JPY']), 5_000)
  assert.equal(read([]), 5_000)
})

it('has fields for each of several currencies, in its own digits', () => {
  const own = [{ ...NONE, currency: 'EUR', change_minor_max: 1_250 }]
  const limits = { ...POLICY.limits, currency_limits: own }
  const form = toPolicyForm({ ...POLICY, limits }, ['JPY', 'EUR'])
  const [euro, yen] = form.currency_limits
  assert.deepEqual([euro?.currency, euro?.change_minor_max], ['EUR', '12.50'])
  assert.deepEqual([yen?.currency, yen?.change_minor_max], ['JPY', ''])
  assert.ok(euro && yen)
  const typed = { ...form, currency_limits: [euro, { ...yen, change_minor_max: '2000' }] }
  assert.deepEqual(limitsOf(typed).currency_limits, [
    { ...NONE, currency: 'EUR', change_minor_max: 1_250 },
    { ...NONE, currency: 'JPY', change_minor_max: 2_000 },
  ])
  assert.deepEqual(toPolicyForm(POLICY, ['EUR']).currency_limits, [])
})

it('submits invalid numbers as text, never as no limit', () => {
  const form = toPolicyForm(POLICY, ['EUR'])
  const typed = { ...form, change_percent_max: '20%', change_minor_max: '1,000', quiet_from: '9' }
  const limits = limitsOf(typed)
  assert.equal(limits.change_percent_max, '20%')
  assert.equal(limits.change_minor_max, '1,000')
  assert.deepEqual(limits.quiet_hours, { from: '9', until: '' })
})

it('maps errors to form fields and labels', () => {
  const form = toPolicyForm(POLICY, ['EUR', 'JPY'])
  const errors = policyFormErrors(
    {
      'limits.change_percent_max': ['The limits.change_percent_max field must be an integer.'],
      'limits.daily_total_minor_max': ['The x field must not be greater than 9.'],
      'limits.quiet_hours.until': ['The quiet hours end where they begin.'],
      'limits.quiet_hours': ['The limits.quiet_hours field must be null.'],
      'limits.allowed_types.0': ['The limits.allowed_types.0 field is wrong.'],
      'limits.currency_limits.1.change_minor_max': ['The x field must be an integer.'],
    },
    form,
  )
  assert.match(errors.change_percent_max ?? '', /^Enter a whole number/)
  assert.match(errors.daily_total_minor_max ?? '', /too large/)
  assert.equal(errors.quiet_until, 'The quiet hours end where they begin.')
  assert.ok(errors.allowed_types)
  assert.match(errors.change_minor_max_JPY ?? '', /no commas/)
  assert.equal(errors.quiet_hours, undefined)
})
