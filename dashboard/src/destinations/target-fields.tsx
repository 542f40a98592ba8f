import { PasswordInput, TextInput } from '@mantine/core'
import { ApiError } from '../api/client.ts'
import type { DestinationPlatform } from './queries.ts'

/** The sentences of a 422 about one field. */
export function fieldErrorOf(error: unknown, field: string): string | null {
  return error instanceof ApiError ? (error.errors[field]?.join(' ') ?? null) : null
}

/** Whether the fields of a form already show everything that is wrong. */
export function isShownByFields(error: unknown, fields: readonly string[]): boolean {
  if (!(error instanceof ApiError)) return false
  const named = Object.keys(error.errors)
  return named.length > 0 && named.every(field => fields.includes(field))
}

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

interface TokenInputProps {
  value: string
  onChange: (value: string) => void
  error: unknown
}

/** Never filled in by the browser and never shown again. */
export function TokenInput({ value, onChange, error }: TokenInputProps) {
  return (
    <PasswordInput
      label="Access token"
      description="Stored encrypted and never shown. The platform checks it with the first request."
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      error={fieldErrorOf(error, 'access_token')}
      autoComplete="new-password"
      spellCheck={false}
      visibilityToggleButtonProps={{ 'aria-label': 'Show the access token' }}
      required
    />
  )
}
