import { Table } from '@mantine/core'
import type { TrackerKey } from '@signalbox/contract/session/keys.ts'
import { type LoadedList, ShowMore } from '../components/list-section.tsx'
import { Time } from '../components/time.tsx'

interface RevokedKeysProps {
  keys: readonly TrackerKey[]
  list: LoadedList
}

const KIND_LABELS: Record<TrackerKey['kind'], string> = {
  tracker_secret: 'Tracker secret',
  publishable: 'Publishable key',
  forwarding: 'Forwarding secret',
}

/** The keys that no longer work, behind a summary because they are rarely of interest. */
export function RevokedKeys({ keys, list }: RevokedKeysProps) {
  if (keys.length === 0) return null
  return (
    <details className="surface disclosure">
      <summary>Revoked keys</summary>
      <Table.ScrollContainer minWidth={480} tabIndex={0} type="native">
        <Table aria-label="Revoked keys">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Ends in</Table.Th>
              <Table.Th>Kind</Table.Th>
              <Table.Th>Last used</Table.Th>
              <Table.Th>Revoked</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {keys.map(key => (
              <Table.Tr key={key.id}>
                <Table.Td className="code">…{key.last_characters}</Table.Td>
                <Table.Td>{KIND_LABELS[key.kind]}</Table.Td>
                <Table.Td>
                  {key.last_used_at ? <Time at={key.last_used_at} format="relative" /> : 'Never'}
                </Table.Td>
                <Table.Td>
                  {key.revoked_at && <Time at={key.revoked_at} format="relative" />}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <ShowMore list={list} label="Show older ones" />
    </details>
  )
}
