import { NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { fieldErrorOf } from '../api/client.ts'
import type { DestinationPlatform } from './queries.ts'

interface TargetFieldsProps {
  fields: DestinationPlatform['fields']
  values: Readonly<Record<string, string>>
  onChange: (values: Record<string, string>) => void
  error: unknown
}

/** The members of a target that a platform asks for. */
export function TargetFields({ fields, values, onChange, error }: TargetFieldsProps) {
  return fields.map(({ name, label, hint, optional = false }) => (
    <TextInput
      key={name}
      label={label}
      description={hint}
      value={values[name] ?? ''}
      onChange={({ currentTarget }) => onChange({ ...values, [name]: currentTarget.value })}
      error={fieldErrorOf(error, `config.${name}`)}
      autoComplete="off"
      spellCheck={false}
      required={!optional}
    />
  ))
}

interface CredentialInputProps {
  forms: DestinationPlatform['credentials']
  /** The text of the credential: a token, or JSON. */
  value: string
  onChange: (value: string) => void
  error: unknown
}

const STORED = 'Stored encrypted and never shown. The platform checks it with the first request.'
const TOKEN_FORM = { kind: 'bearer_token', label: 'Access token', hint: '' } as const

/** One of the kinds of credential that a platform takes. It is never shown again. */
export function CredentialInput({ forms, value, onChange, error }: CredentialInputProps) {
  const [chosen, setChosen] = useState(0)
  const form = forms[chosen] ?? TOKEN_FORM
  const common = { error: fieldErrorOf(error, 'access_token'), spellCheck: false, required: true }
  return (
    <>
      {forms.length > 1 && (
        <NativeSelect
          label="Kind of credential"
          value={chosen}
          data={forms.map(({ label }, index) => ({ value: String(index), label }))}
          onChange={({ currentTarget }) => {
            setChosen(Number(currentTarget.value))
            onChange('')
          }}
        />
      )}
      {form.kind === 'bearer_token' && (
        <SecretInput {...common} {...form} value={value} onChange={onChange} />
      )}
      {form.kind === 'service_account_key' && (
        <Textarea
          {...common}
          label={form.label}
          description={`${form.hint} ${STORED}`}
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
          autoComplete="off"
          rows={6}
        />
      )}
      {form.kind === 'refresh_token' && (
        <RefreshTokenInputs {...common} hint={form.hint} onChange={onChange} />
      )}
    </>
  )
}

interface SecretInputProps {
  label: string
  hint?: string
  value: string
  onChange: (value: string) => void
  error?: string | null
}

/** Never filled in by the browser. */
function SecretInput({ label, hint = '', value, onChange, error = null }: SecretInputProps) {
  return (
    <PasswordInput
      label={label}
      description={`${hint} ${STORED}`.trim()}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={error}
      // Mantine leaves it out here, unlike other inputs.
      aria-invalid={error === null ? undefined : true}
      autoComplete="new-password"
      spellCheck={false}
      visibilityToggleButtonProps={{ 'aria-label': `Show the ${label.toLowerCase()}` }}
      required
    />
  )
}

interface RefreshTokenInputsProps {
  hint: string
  error: string | null
  onChange: (value: string) => void
}

/** Three members in one text, as the service seals them. */
function RefreshTokenInputs({ hint, error, onChange }: RefreshTokenInputsProps) {
  const [members, setMembers] = useState({ client_id: '', client_secret: '', refresh_token: '' })
  const change = (name: keyof typeof members) => (text: string) => {
    const next = { ...members, [name]: text.trim() }
    setMembers(next)
    const isComplete = Object.values(next).every(member => member !== '')
    onChange(isComplete ? JSON.stringify({ kind: 'refresh_token', ...next }) : '')
  }
  return (
    <>
      <TextInput
        label="Client ID"
        description={hint}
        value={members.client_id}
        onChange={({ currentTarget }) => change('client_id')(currentTarget.value)}
        error={error}
        autoComplete="off"
        spellCheck={false}
        required
      />
      <SecretInput
        label="Client secret"
        value={members.client_secret}
        onChange={change('client_secret')}
      />
      <SecretInput
        label="Refresh token"
        value={members.refresh_token}
        onChange={change('refresh_token')}
      />
    </>
  )
}
