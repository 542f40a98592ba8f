import { Checkbox, Fieldset, Radio, Stack, TextInput } from '@mantine/core'
import type { ActionType } from '@signalbox/contract/agents/actions.ts'
import {
  AMOUNT_LIMITS,
  type AmountLimit,
  formatAmount,
  type NumberLimit,
} from '@signalbox/contract/agents/amounts.ts'
import type { ExecutionMode } from '@signalbox/contract/agents/policy.ts'
import { keysOf } from '@signalbox/contract/closed-set.ts'
import { ACTION_TYPE_LABELS } from '../approvals/approval-texts.ts'
import { EXECUTION_MODE_LABELS } from './policy-facts.ts'
import {
  type CurrencyForm,
  currencyField,
  type PolicyErrors,
  type PolicyForm,
} from './policy-form.ts'

interface FieldsProps {
  form: PolicyForm
  errors: PolicyErrors
  currencies: readonly string[]
  onChange: (changes: Partial<PolicyForm>) => void
}

/** The fields of the policy: mode, allowed changes, limits, quiet hours. */
export function PolicyFields({ form, errors, currencies, onChange }: FieldsProps) {
  const hint = amountHint(currencies, form.digits)
  const number = (name: NumberLimit) => (
    <TextInput
      key={name}
      id={name}
      label={NUMBER_LABELS[name][0]}
      description={NUMBER_LABELS[name][1]}
      inputMode="numeric"
      maxLength={14}
      value={form[name]}
      error={errors[name]}
      onChange={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
    />
  )
  return (
    <Stack gap="md">
      <Choices form={form} errors={errors} onChange={onChange} />
      <div className="field-grid">
        {number('change_percent_max')}
        <AmountFields
          values={form}
          hint={hint}
          idOf={name => name}
          errors={errors}
          onChange={onChange}
        />
        {number('entity_budget_times_max')}
        {number('active_spend_percent_max')}
        {number('actions_per_day_max')}
        <QuietField name="quiet_from" form={form} errors={errors} onChange={onChange} />
        <QuietField name="quiet_until" form={form} errors={errors} onChange={onChange} />
      </div>
      {form.currency_limits.map((own, position) => (
        <CurrencyFields
          key={own.currency}
          own={own}
          errors={errors}
          onChange={changes => {
            const others = form.currency_limits
            onChange({ currency_limits: others.with(position, { ...own, ...changes }) })
          }}
        />
      ))}
    </Stack>
  )
}

function Choices({ form, errors, onChange }: Omit<FieldsProps, 'currencies'>) {
  return (
    <>
      <Radio.Group
        label="Mode"
        value={form.execution_mode}
        error={errors.execution_mode}
        onChange={value => onChange({ execution_mode: value as ExecutionMode })}
      >
        <Stack gap="xs" mt="xs">
          {keysOf(EXECUTION_MODE_LABELS).map(mode => (
            <Radio
              key={mode}
              value={mode}
              label={EXECUTION_MODE_LABELS[mode][0]}
              description={EXECUTION_MODE_LABELS[mode][1]}
            />
          ))}
        </Stack>
      </Radio.Group>
      <Checkbox.Group
        label="Agents may propose to"
        description="Other changes are blocked in every mode."
        value={[...form.allowed_types]}
        error={errors.allowed_types}
        onChange={values => onChange({ allowed_types: values as ActionType[] })}
      >
        <Stack gap="xs" mt="xs">
          {keysOf(ACTION_TYPE_LABELS).map(type => (
            <Checkbox key={type} value={type} label={ACTION_TYPE_LABELS[type]} />
          ))}
        </Stack>
      </Checkbox.Group>
    </>
  )
}

interface AmountFieldsProps {
  values: Record<AmountLimit, string>
  hint: string
  /** The name of the field, by which errors name it. */
  idOf: (name: AmountLimit) => string
  errors: PolicyErrors
  onChange: (changes: Partial<Record<AmountLimit, string>>) => void
}

function AmountFields({ values, hint, idOf, errors, onChange }: AmountFieldsProps) {
  return AMOUNT_LIMITS.map(name => (
    <TextInput
      key={name}
      id={idOf(name)}
      label={AMOUNT_LABELS[name]}
      description={hint}
      inputMode="decimal"
      maxLength={14}
      value={values[name]}
      error={errors[idOf(name)]}
      onChange={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
    />
  ))
}

interface CurrencyFieldsProps {
  own: CurrencyForm
  errors: PolicyErrors
  onChange: (changes: Partial<CurrencyForm>) => void
}

/** Limits on amounts in one of several currencies. */
function CurrencyFields({ own, errors, onChange }: CurrencyFieldsProps) {
  return (
    <Fieldset legend={`Amounts in ${own.currency}`}>
      <div className="field-grid">
        <AmountFields
          values={own}
          hint="Empty: the general limit above."
          idOf={name => currencyField(name, own.currency)}
          errors={errors}
          onChange={onChange}
        />
      </div>
    </Fieldset>
  )
}

interface QuietFieldProps extends Omit<FieldsProps, 'currencies'> {
  name: 'quiet_from' | 'quiet_until'
}

function QuietField({ name, form, errors, onChange }: QuietFieldProps) {
  const isFrom = name === 'quiet_from'
  return (
    <TextInput
      id={name}
      type="time"
      label={isFrom ? 'Quiet hours from' : 'Quiet hours until'}
      description={isFrom ? QUIET_HINT : 'Empty: none.'}
      value={form[name]}
      error={errors[name]}
      onChange={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
    />
  )
}

const QUIET_HINT = 'In the time zone of the ad account. Every change requires approval then.'

const NUMBER_LABELS: Record<NumberLimit, readonly [label: string, hint: string]> = {
  change_percent_max: [
    'Largest budget change per action, in percent',
    'Of the current budget. Empty: no limit.',
  ],
  actions_per_day_max: ['Actions per day', 'Empty: no limit.'],
  entity_budget_times_max: [
    'Highest daily budget, times what it was before agents changed it',
    'Empty: no limit.',
  ],
  active_spend_percent_max: [
    'Share of the active budgets that agents may pause or lower in 30 days, in percent',
    'More counts as pausing the whole account. Empty: all but the last active budget.',
  ],
}

const AMOUNT_LABELS: Record<AmountLimit, string> = {
  change_minor_max: 'Largest budget change per action, as an amount',
  daily_total_minor_max: 'Total budget changes per day, as an amount',
  weekly_total_minor_max: 'Total budget changes in 7 days, as an amount',
  monthly_total_minor_max: 'Total budget changes in 30 days, as an amount',
  entity_budget_minor_max: 'Highest daily budget of a campaign or ad set',
  account_budget_minor_max: 'Highest daily budgets of the account together',
}

function amountHint(currencies: readonly string[], digits: number): string {
  const example = currencies.map(currency => formatAmount(5_000, currency)).join(' or ')
  if (currencies.length === 0) return 'In minor units (cents): 5000 is 50.00. Empty: no limit.'
  if (currencies.length === 1) return `In ${currencies[0]}. Empty: no limit.`
  if (digits > 0) return 'In the currency of each ad account. Empty: no limit.'
  return `In minor units: 5000 is ${example}. Empty: no limit.`
}
