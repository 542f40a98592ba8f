import { Badge, Stack, Table, Text } from '@mantine/core'
import { describeConsentOutcome, describeConsentReason } from '@signalbox/contract/consent-texts.ts'
import type { EventDetails } from '@signalbox/contract/session/events.ts'
import { Facts, Section } from '../components/facts.tsx'
import { Time } from '../components/time.tsx'

/** The decision, and the signal that it follows from. */
export function ConsentSection({ event }: { event: EventDetails }) {
  const { consent } = event
  if (!consent) return null
  const { captured_at: capturedAt, signals, platforms } = consent
  return (
    <Section title="Consent">
      <Stack gap="md">
        <Text maw="46rem">
          {describeConsentOutcome(consent.outcome) ?? consent.outcome}{' '}
          {describeConsentReason(consent.reason) ?? decidingSentence(consent)}
        </Text>
        <Facts
          facts={[
            ['Reason', <span className="code">{consent.reason}</span>],
            ['Basis', event.consent_basis],
            ['Consent given', capturedAt && <Time at={capturedAt} />],
            ['Version of the rules', consent.rules_version],
          ]}
        />
        {signals.length > 0 && <Signals signals={signals} />}
        {platforms.length > 0 && <Platforms platforms={platforms} />}
      </Stack>
    </Section>
  )
}

type Consent = NonNullable<EventDetails['consent']>

function decidingSentence({ signals }: Consent): string {
  const fields = signals.filter(signal => signal.has_decided).map(({ field }) => field)
  return fields.length === 0 ? '' : `Decided by ${fields.join(' and ')}.`
}

/** Those that are decided otherwise than the event. */
function Platforms({ platforms }: Pick<Consent, 'platforms'>) {
  return (
    <Table verticalSpacing="xs" horizontalSpacing="xs" captionSide="top">
      <Table.Caption ta="left">Platforms with a decision of their own</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Platform</Table.Th>
          <Table.Th>Decision</Table.Th>
          <Table.Th>Decided by</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {platforms.map(own => (
          <Table.Tr key={own.platform}>
            <Table.Td className="code">{own.platform}</Table.Td>
            <Table.Td>
              {own.outcome}
              {!own.is_personalized && ', without personalized ads'}
            </Table.Td>
            <Table.Td className="code">{own.field ?? own.reason}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Signals({ signals }: Pick<Consent, 'signals'>) {
  return (
    <Table verticalSpacing="xs" horizontalSpacing="xs" captionSide="top">
      <Table.Caption ta="left">Signals that came with the event</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Member</Table.Th>
          <Table.Th>Read as</Table.Th>
          <Table.Th visibleFrom="sm">Because</Table.Th>
          <Table.Th visibleFrom="sm">Captured</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {signals.map(signal => (
          <Table.Tr key={signal.source}>
            <Table.Td className="code">{signal.field}</Table.Td>
            <Table.Td>
              {signal.state}{' '}
              {signal.has_decided && (
                <Badge variant="light" color="brand" tt="none" radius="sm">
                  decided
                </Badge>
              )}
            </Table.Td>
            <Table.Td visibleFrom="sm" className="code">
              {signal.reason}
            </Table.Td>
            <Table.Td visibleFrom="sm">
              {signal.captured_at ? <Time at={signal.captured_at} format="absolute" /> : 'unknown'}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
