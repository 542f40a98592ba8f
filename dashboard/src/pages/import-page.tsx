import { Button, FileInput, Group, SimpleGrid, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Section } from '../components/facts.tsx'
import { Page } from '../components/page.tsx'
import { ImportHistory } from '../import/import-history.tsx'
import { ImportProgress } from '../import/import-progress.tsx'
import { type Choices, MappingForm } from '../import/mapping-form.tsx'
import { type FileColumn, guessMember, readColumns, readPreview } from '../import/preview.ts'
import { type ChosenFile, openFile } from '../import/read-file.ts'
import { type Mapping, type Progress, runImport } from '../import/run-import.ts'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'

interface Opened {
  file: ChosenFile
  columns: FileColumn[]
}

/** Sends the rows of a CSV file as events: choose, map, check, import. */
export function ImportPage() {
  const canManage = useCanManage()
  const [opened, setOpened] = useState<Opened | null>(null)
  const opening = useMutation({
    async mutationFn(chosen: File) {
      const file = await openFile(chosen)
      return { file, columns: await readColumns(file) }
    },
    onSuccess: setOpened,
    onError: () => setOpened(null),
  })
  return (
    <Page
      title="Import"
      description="Send the rows of a CSV file as events. The file stays in this browser."
    >
      {canManage ? (
        <Section title="File">
          <FileInput
            label="CSV file with a header"
            placeholder="Choose a file"
            accept=".csv,.tsv,.txt,text/csv"
            maw="32rem"
            onChange={file => file && opening.mutate(file)}
          />
        </Section>
      ) : (
        <Text>Owners and admins can import files.</Text>
      )}
      {opening.error && <ErrorNotice error={opening.error} />}
      {opened && <Import key={opened.file.digest} {...opened} />}
      <ImportHistory />
    </Page>
  )
}

function Import({ file, columns }: Opened) {
  const params = useTrackerParams()
  const client = useQueryClient()
  const [choices, setChoices] = useState<Choices>(() => ({
    members: columns.map(({ name }) => guessMember(name)),
    formats: {},
    eventName: '',
    currency: '',
    consentBasis: '',
  }))
  const [progress, setProgress] = useState<Progress | null>(null)
  const stopping = useRef(new AbortController())
  useEffect(() => () => stopping.current.abort(), [])
  const mapping = toMapping(columns, choices)
  const running = useMutation({
    mutationFn(isDryRun: boolean) {
      stopping.current = new AbortController()
      const { signal } = stopping.current
      return runImport({ params, file, mapping, isDryRun, signal, onProgress: setProgress })
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['imports', params] }),
  })
  return (
    <>
      <MappingForm columns={columns} choices={choices} onChange={setChoices} />
      <Preview file={file} mapping={mapping} />
      <Group gap="sm">
        <Button variant="default" disabled={running.isPending} onClick={() => running.mutate(true)}>
          Check without storing
        </Button>
        <Button disabled={running.isPending} onClick={() => running.mutate(false)}>
          Import
        </Button>
        {running.isPending && (
          <Button variant="default" onClick={() => stopping.current.abort()}>
            Stop
          </Button>
        )}
      </Group>
      {running.error && !isAborted(running.error) && <ErrorNotice error={running.error} />}
      {running.error && isAborted(running.error) && (
        <Text role="status">Stopped. Rows that were sent stay; a second import doubles none.</Text>
      )}
      {progress && (
        <ImportProgress progress={progress} lineCount={file.lineCount} fileName={file.name} />
      )}
    </>
  )
}

function isAborted(error: Error): boolean {
  return error.name === 'AbortError'
}

function toMapping(columns: readonly FileColumn[], choices: Choices): Mapping {
  const { members, formats, eventName, currency, consentBasis } = choices
  const given: [string, string][] = [
    ['event_name', eventName.trim()],
    ['value_data.currency', currency.trim()],
    ['consent_basis', consentBasis],
  ]
  return {
    map: columns.map(({ name }, index) => `${name}=${members[index] ?? ''}`),
    formats,
    defaults: new Map(given.filter(([, value]) => value !== '')),
  }
}

/** The first rows as they would be sent; digests are shortened. */
function Preview({ file, mapping }: { file: ChosenFile; mapping: Mapping }) {
  const key = [mapping.map, mapping.formats, [...mapping.defaults]]
  const { data, error } = useQuery({
    queryKey: ['import-preview', file.digest, JSON.stringify(key)],
    queryFn: () => readPreview(file, mapping),
    retry: false,
  })
  if (error) return <ErrorNotice error={error} />
  if (!data) return null
  return (
    <Section title="Preview" description="The first rows as they would be sent.">
      <SimpleGrid cols={{ base: 1, md: 3 }} spacing="md">
        {data.map((event, index) => (
          <pre key={index} className="code answer anywhere">
            {typeof event === 'string' ? event : JSON.stringify(event, shorten, 2)}
          </pre>
        ))}
      </SimpleGrid>
    </Section>
  )
}

const SHOWN = 8

function shorten(_: string, value: unknown): unknown {
  const isDigest = typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
  return isDigest ? `${value.slice(0, SHOWN)}…` : value
}
