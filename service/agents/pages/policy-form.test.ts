import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Refusal } from '../../runtime/http/refusal.ts'
import { DEFAULT_POLICY } from '../policy/policy-store.ts'
import {
  parsePolicyForm,
  policyFormErrors,
  sharedMinorUnitDigits,
  toPolicyForm,
  toPolicySubmission,
} from './policy-form.ts'

it('submits the same policy if nothing is changed', () => {
  const { version, execution_mode, limits } = DEFAULT_POLICY
  const quiet = { ...limits, quiet_hours: { from: '22:00', until: '07:00' } }
  const unlimited = { ...limits, change_percent_max: null, daily_total_minor_max: null }
  for (const digits of [0, 2]) {
    for (const given of [limits, quiet, unlimited]) {
      const typed = toPolicyForm({ ...DEFAULT_POLICY, limits: given }, digits)
      assert.deepEqual(toPolicySubmission(typed), { version, execution_mode, limits: given })
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

it('parses amounts with the digits of the submitted form, or as minor units', () => {
  const read = (fields: Record<string, string>) => {
    const form = new URLSearchParams({ change_minor_max: '5000', ...fields })
    const { limits } = toPolicySubmission(parsePolicyForm(form)) as {
      limits: Record<string, unknown>
    }
    return limits.change_minor_max
  }
  assert.equal(read({ amount_digits: '2' }), 500_000)
  assert.equal(read({ amount_digits: '0' }), 5_000)
  assert.equal(read({}), 5_000)
  assert.equal(read({ amount_digits: '9' }), 5_000)
})

it('submits invalid numbers as text, never as no limit', () => {
  const form = new URLSearchParams({ change_percent_max: '20%', change_minor_max: '1,000' })
  form.append('allowed_types', 'pause')
  form.append('allowed_types', 'delete')
  const { limits } = toPolicySubmission(parsePolicyForm(form)) as {
    limits: Record<string, unknown>
  }
  assert.equal(limits.change_percent_max, '20%')
  assert.equal(limits.change_minor_max, '1,000')
  assert.deepEqual(limits.allowed_types, ['pause'])
})

it('maps errors to form fields and labels', () => {
  const errors = policyFormErrors(
    Refusal.ofFields({
      'limits.change_percent_max': ['The limits.change_percent_max field must be an integer.'],
      'limits.quiet_hours.until': ['The quiet hours end where they begin.'],
      'limits.quiet_hours': ['The limits.quiet_hours field must be null.'],
      'limits.allowed_types.0': ['The limits.allowed_types.0 field is wrong.'],
    }),
  )
  assert.match(errors.change_percent_max ?? '', /^Enter a whole number/)
  assert.equal(errors.quiet_until, 'The quiet hours end where they begin.')
  assert.ok(errors.allowed_types)
  assert.equal(errors.quiet_hours, undefined)
  assert.throws(() => policyFormErrors(new Refusal(403, 'No.')), /No\./)
})
