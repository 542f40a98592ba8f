import type { AuditLogEntry } from '@signalbox/contract/agents/audit.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Facts } from '../components/facts.tsx'
import { WorkspaceLink } from '../components/links.tsx'
import { Time } from '../components/time.tsx'
import { UntrustedName } from '../components/untrusted.tsx'
import { DetailList } from './entry-details.tsx'
import {
  actorLabel,
  auditActionLabel,
  proposalOf,
  type SubjectNames,
  subjectLabel,
  subjectText,
} from './entry-texts.ts'

interface EntryTableProps {
  workspace: string
  entries: readonly AuditLogEntry[]
  names: SubjectNames
}

/** Entries of the log, one a row; each opens to its details. */
export function EntryTable({ workspace, entries, names }: EntryTableProps) {
  const columns: Column<AuditLogEntry>[] = [
    {
      key: 'at',
      header: 'Time',
      wrap: 'whole',
      cell: ({ at }) => <Time at={at} format="absolute" />,
    },
    {
      key: 'action',
      header: 'What',
      cell: entry => (
        <details className="disclosure-plain">
          <summary>{auditActionLabel(entry.action)}</summary>
          <EntryDetails workspace={workspace} entry={entry} />
        </details>
      ),
    },
    {
      key: 'subject',
      header: 'About',
      cell: entry => <UntrustedName name={subjectText(entry, names)} />,
    },
    {
      key: 'actor',
      header: 'By',
      cell: ({ actor }) => <UntrustedName name={actor.name ?? actorLabel(actor)} />,
    },
  ]
  return (
    <DataTable
      label="Entries of the log"
      columns={columns}
      rows={entries}
      rowKey={({ sequence }) => String(sequence)}
    />
  )
}

function EntryDetails({ workspace, entry }: { workspace: string; entry: AuditLogEntry }) {
  const { sequence, actor, subject, hash, details } = entry
  const label = `${subjectLabel(subject.type)} ${subject.id}`
  const proposal = proposalOf(entry)
  return (
    <div className="entry-details">
      <Facts
        facts={[
          ['Entry', sequence],
          [
            'By',
            <span key="by">
              {actor.name !== null && (
                <>
                  <UntrustedName name={actor.name} />,{' '}
                </>
              )}
              {actorLabel(actor)}
            </span>,
          ],
          [
            'Subject',
            proposal === null ? (
              <UntrustedName key="subject" name={label} />
            ) : (
              <WorkspaceLink key="subject" workspace={workspace} path={`approvals/${proposal}`}>
                <UntrustedName name={label} />
              </WorkspaceLink>
            ),
          ],
        ]}
      />
      <DetailList details={details} />
      <Facts
        facts={[
          [
            'SHA-256',
            <span key="hash" className="code">
              {hash}
            </span>,
          ],
        ]}
      />
    </div>
  )
}
