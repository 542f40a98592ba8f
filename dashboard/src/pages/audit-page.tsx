import { Alert, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import type { AuditLogEntry, AuditVerification } from '@signalbox/contract/agents/audit.ts'
import {
  AUDIT_ACTION_LABELS,
  AUDIT_SUBJECT_LABELS,
} from '@signalbox/contract/agents/audit-actions.ts'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { type AuditSearch, auditQuery, exportPath, useVerification } from '../audit/audit-api.ts'
import { EntryTable } from '../audit/entry-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { ShowMore } from '../components/list-section.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { useCanManage, useWorkspace } from '../layout/scope.ts'

/** The audit log of a workspace: read, search, verify, download. */
export function AuditPage() {
  const canRead = useCanManage()
  return (
    <Page
      title="Log"
      description={
        'Everything that agents, people and Signalbox did here with agents, keys and settings. ' +
        'Entries cannot be changed: each one contains the hash of its predecessor.'
      }
    >
      {canRead ? (
        <Log />
      ) : (
        <Text size="sm">Only owners and administrators of the workspace can read its log.</Text>
      )}
    </Page>
  )
}

function Log() {
  const { id: workspace } = useWorkspace()
  const search = useSearch({ from: '/w/$workspace/audit' })
  const log = useInfiniteQuery(auditQuery(workspace, search))
  const verify = useVerification(workspace)
  const entries = log.data?.pages.flatMap(page => page.entries) ?? []
  const names = log.data?.pages.flatMap(page => page.subject_names) ?? []
  return (
    <>
      <Group gap="sm" justify="space-between">
        <Filters key={JSON.stringify(search)} search={search} />
        <Group gap="sm">
          <Button
            variant="default"
            size="xs"
            loading={verify.isPending}
            onClick={() => verify.mutate()}
          >
            Verify the log
          </Button>
          <Button component="a" href={exportPath(workspace)} download variant="default" size="xs">
            Download the log (NDJSON)
          </Button>
        </Group>
      </Group>
      {verify.error && <ErrorNotice error={verify.error} />}
      {verify.data && <Finding verification={verify.data} />}
      {log.error && <ErrorNotice error={log.error} onRetry={() => void log.refetch()} />}
      {!log.data && !log.error && <PageSkeleton />}
      {log.data && <Entries entries={entries} names={names} workspace={workspace} />}
      <ShowMore list={log} label="Show older entries" />
    </>
  )
}

interface EntriesProps {
  workspace: string
  entries: readonly AuditLogEntry[]
  names: readonly { type: string; id: string; name: string }[]
}

function Entries({ workspace, entries, names }: EntriesProps) {
  if (entries.length === 0) {
    return <EmptyState title="No entries match">Clear a filter to see more of the log.</EmptyState>
  }
  const byKey = new Map(names.map(({ type, id, name }) => [`${type} ${id}`, name]))
  return <EntryTable workspace={workspace} entries={entries} names={byKey} />
}

function Finding({ verification }: { verification: AuditVerification }) {
  const { is_intact, finding, verified_at } = verification
  return (
    <Alert
      role={is_intact ? 'status' : 'alert'}
      color={is_intact ? 'brand' : 'red'}
      variant="light"
      title={is_intact ? 'The log is intact' : 'The log was changed'}
    >
      {finding} Verified <Time at={verified_at} />.
    </Alert>
  )
}

const ALL = { value: '', label: 'All' }
const optionsOf = (labels: Readonly<Record<string, string>>) => [
  ALL,
  ...Object.entries(labels).map(([value, label]) => ({ value, label })),
]
const ACTIONS = optionsOf(AUDIT_ACTION_LABELS)
const SUBJECTS = optionsOf(AUDIT_SUBJECT_LABELS)

function Filters({ search }: { search: AuditSearch }) {
  const navigate = useNavigate()
  const [subjectId, setSubjectId] = useState(search.subject_id ?? '')
  const change = (changes: AuditSearch) =>
    void navigate({ to: '.', search: { ...search, ...changes } as never })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change({ subject_id: subjectId.trim() })
  }
  const isFiltered = Object.values(search).some(value => value)
  return (
    <form className="event-filters" aria-label="Filter entries" onSubmit={submit}>
      <NativeSelect
        aria-label="Action"
        size="xs"
        data={[{ ...ALL, label: 'All actions' }, ...ACTIONS.slice(1)]}
        value={search.action ?? ''}
        onChange={({ currentTarget }) => change({ action: currentTarget.value })}
      />
      <NativeSelect
        aria-label="Subject"
        size="xs"
        data={[{ ...ALL, label: 'All subjects' }, ...SUBJECTS.slice(1)]}
        value={search.subject_type ?? ''}
        onChange={({ currentTarget }) => change({ subject_type: currentTarget.value })}
      />
      <TextInput
        aria-label="Subject ID"
        placeholder="Subject ID"
        size="xs"
        maxLength={100}
        value={subjectId}
        onChange={({ currentTarget }) => setSubjectId(currentTarget.value)}
      />
      <Button type="submit" variant="default" size="xs">
        Apply
      </Button>
      {isFiltered && (
        <Button
          variant="subtle"
          size="xs"
          onClick={() => change({ action: '', subject_type: '', subject_id: '' })}
        >
          Clear filters
        </Button>
      )}
    </form>
  )
}
