import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { DangerButton } from '../components/danger-button.tsx'
import { Section } from '../components/facts.tsx'
import {
  digestIdentifier,
  type IdentifierDigest,
  type IdentifierType,
} from './digest-identifier.ts'
import { EraseDialog } from './erase-dialog.tsx'
import type { TrackerParams } from './privacy-api.ts'

const TYPES: readonly { value: IdentifierType; label: string; hint: string }[] = [
  { value: 'email', label: 'Email address', hint: 'jane@example.com' },
  { value: 'phone', label: 'Phone number', hint: '+49 30 901820' },
  { value: 'external_id', label: 'Your own ID of the person', hint: 'customer-1001' },
]

/** Takes an identifier, shows its digest, and erases the person once that is confirmed. */
export function EraseForm({ params }: { params: TrackerParams }) {
  const [type, setType] = useState<IdentifierType>('email')
  const [text, setText] = useState('')
  const [country, setCountry] = useState('')
  const [computed, setComputed] = useState<IdentifierDigest | null>(null)
  const [isConfirming, setConfirming] = useState(false)
  const { hint } = TYPES.find(({ value }) => value === type) ?? { hint: '' }
  const change = (set: () => void) => {
    set()
    setComputed(null)
  }
  const compute = async () => setComputed(await digestIdentifier({ type, text, country }))
  return (
    <Section title="Erase a person" description={PURPOSE}>
      <form
        onSubmit={event => {
          event.preventDefault()
          void compute()
        }}
      >
        <Stack gap="md" maw="28rem">
          <NativeSelect
            label="What you have"
            data={TYPES.map(({ value, label }) => ({ value, label }))}
            value={type}
            onChange={event => {
              const value = event.currentTarget.value as IdentifierType
              change(() => setType(value))
            }}
          />
          <TextInput
            label="Identifier"
            description="Or its SHA-256 as 64 hexadecimal digits."
            placeholder={hint}
            autoComplete="off"
            spellCheck={false}
            required
            value={text}
            onChange={event => {
              const { value } = event.currentTarget
              change(() => setText(value))
            }}
            error={computed?.problem}
          />
          {type === 'phone' && (
            <TextInput
              label="Country of a number without +"
              description="Two letters, such as DE."
              maxLength={2}
              autoComplete="off"
              value={country}
              onChange={event => {
                const { value } = event.currentTarget
                change(() => setCountry(value))
              }}
            />
          )}
          <Group>
            <Button type="submit" variant={computed?.digest ? 'default' : 'filled'}>
              Compute the digest
            </Button>
          </Group>
        </Stack>
      </form>
      {computed?.digest && (
        <Stack gap="sm" mt="md" aria-live="polite">
          <Text size="sm">
            {computed.normalized === null ? (
              'This is a digest already.'
            ) : (
              <>
                SHA-256 of <span className="code">{computed.normalized}</span>:
              </>
            )}{' '}
            <span className="code" data-testid="digest">
              {computed.digest}
            </span>
          </Text>
          {computed.others.length > 0 && (
            <Text size="sm" c="dimmed">
              Other programs digest the identifier in another form. These digests are erased too.
            </Text>
          )}
          <Group>
            <DangerButton onClick={() => setConfirming(true)}>Erase this person…</DangerButton>
          </Group>
        </Stack>
      )}
      {isConfirming && computed?.digest && (
        <EraseDialog
          params={params}
          type={type}
          digests={[computed.digest, ...computed.others]}
          onClose={isErased => {
            setConfirming(false)
            if (isErased) change(() => setText(''))
          }}
        />
      )}
    </Section>
  )
}

const PURPOSE =
  'One identifier at a time. Your browser computes its digest, and only the digest is sent. For ' +
  'a person with two email addresses, erase both.'
