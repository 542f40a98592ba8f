import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core'
import type { TrackerKey } from '@signalbox/contract/session/keys.ts'
import { Section } from '../components/facts.tsx'
import { Time } from '../components/time.tsx'
import type { KeyKind } from './key-api.ts'

/** What a person wants to do with a key. */
export type KeyIntent =
  | { action: 'issue'; kind: KeyKind }
  | { action: 'rotate'; key: TrackerKey }
  | { action: 'revoke'; key: TrackerKey }

interface KeySectionProps {
  title: string
  purpose: string
  kind: KeyKind
  /** The live keys of the kind, oldest first. */
  keys: readonly TrackerKey[]
  liveMax: number
  canManage: boolean
  onIntent: (intent: KeyIntent) => void
}

/** The live keys of one kind. */
export function KeySection(props: KeySectionProps) {
  const { title, purpose, kind, keys, liveMax, canManage, onIntent } = props
  const canIssue = canManage && keys.length < liveMax
  return (
    <Section
      title={title}
      description={purpose}
      actions={
        canIssue && <IssueButton kind={kind} isFirst={keys.length === 0} onIntent={onIntent} />
      }
    >
      {keys.length === 0 ? (
        <Text size="sm">No live key.</Text>
      ) : (
        <KeyTable
          title={title}
          keys={keys}
          kind={kind}
          canManage={canManage}
          canRotate={canIssue}
          onIntent={onIntent}
        />
      )}
      {keys.length > 1 && (
        <Text size="sm">
          Two keys are valid. Revoke the older one once its last use stops changing.
        </Text>
      )}
    </Section>
  )
}

interface IssueButtonProps extends Pick<KeySectionProps, 'kind' | 'onIntent'> {
  isFirst: boolean
}

/** A second key comes from rotating; a publishable key may also get other origins. */
function IssueButton({ kind, isFirst, onIntent }: IssueButtonProps) {
  if (!isFirst && kind !== 'publishable') return null
  return (
    <Button
      size="sm"
      variant={isFirst ? 'filled' : 'default'}
      onClick={() => onIntent({ action: 'issue', kind })}
    >
      {isFirst ? 'Issue a key' : 'Issue with other origins'}
    </Button>
  )
}

interface KeyTableProps
  extends Pick<KeySectionProps, 'title' | 'keys' | 'kind' | 'canManage' | 'onIntent'> {
  canRotate: boolean
}

function KeyTable({ title, keys, kind, canManage, canRotate, onIntent }: KeyTableProps) {
  return (
    <Table.ScrollContainer minWidth={300} tabIndex={0} type="native">
      <Table aria-label={title} verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Ends in</Table.Th>
            <Table.Th visibleFrom="sm">Issued</Table.Th>
            <Table.Th>Last used</Table.Th>
            {canManage && <Table.Th aria-label="Actions" />}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map(key => (
            <Table.Tr key={key.id}>
              <Table.Td>
                <span className="code nowrap">…{key.last_characters}</span>
                {kind === 'publishable' && <Origins origins={key.origins} />}
              </Table.Td>
              <Table.Td visibleFrom="sm">
                <Time at={key.created_at} format="relative" />
              </Table.Td>
              <Table.Td>
                {key.last_used_at ? <Time at={key.last_used_at} format="relative" /> : 'Never'}
              </Table.Td>
              {canManage && (
                <Table.Td>
                  <Group gap="xs" justify="flex-end">
                    {canRotate && (
                      <Button
                        size="compact-sm"
                        variant="default"
                        aria-label={`Rotate the key that ends in ${key.last_characters}`}
                        onClick={() => onIntent({ action: 'rotate', key })}
                      >
                        Rotate
                      </Button>
                    )}
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`Revoke the key that ends in ${key.last_characters}`}
                      onClick={() => onIntent({ action: 'revoke', key })}
                    >
                      Revoke
                    </Button>
                  </Group>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Origins({ origins }: { origins: readonly string[] }) {
  if (origins.length === 0) return <Badge color="yellow">No origin: works for no page</Badge>
  return (
    <Stack gap={0}>
      {origins.map(origin => (
        <span key={origin} className="code quiet">
          {origin}
        </span>
      ))}
    </Stack>
  )
}
