import { List, NativeSelect, SimpleGrid, Stack, TextInput, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { CopyBlock } from '../components/copy.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Section } from '../components/facts.tsx'
import { ForwarderCheck } from './forwarder-check.tsx'
import { forwarderQuery, type TrackerParams } from './key-api.ts'

const KINDS = [
  { value: 'cloudflare-worker', label: 'Cloudflare Worker' },
  { value: 'nginx', label: 'nginx' },
  { value: 'next-route', label: 'Next.js' },
  { value: 'express', label: 'Express' },
]
const TYPING_MILLISECONDS = 400
const PURPOSE =
  'Runs on the origin of your shop and passes events on. Signalbox then trusts the address of ' +
  'the visitor, and your pages ask no other origin.'

/** The file that passes events on from the shop's own origin, filled in for this installation. */
export function ForwarderSection({ params }: { params: TrackerParams }) {
  const [kind, setKind] = useState('cloudflare-worker')
  const [path, setPath] = useState('/sb')
  const [typedPath] = useDebouncedValue(path, TYPING_MILLISECONDS)
  const { data, error } = useQuery(forwarderQuery(params, kind, typedPath))
  return (
    <Section title="Forwarder" description={PURPOSE}>
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <NativeSelect
            label="Where it runs"
            data={KINDS}
            value={kind}
            onChange={event => setKind(event.currentTarget.value)}
          />
          <TextInput
            label="Path in your shop"
            description="Choose an unusual one: blocklists contain the common ones."
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            value={path}
            spellCheck={false}
            onChange={event => setPath(event.currentTarget.value)}
          />
        </SimpleGrid>
        {error && <ErrorNotice error={error} />}
        {data && !error && (
          <>
            <List type="ordered" size="sm" spacing="xs">
              {data.steps.map(step => (
                <List.Item key={step}>{step}</List.Item>
              ))}
            </List>
            <details className="disclosure-plain">
              <summary>
                <span className="code">{data.file_name}</span>
              </summary>
              <div className="code-tall">
                <CopyBlock text={data.source} label={`Copy ${data.file_name}`} />
              </div>
            </details>
            <details className="disclosure-plain">
              <summary>In the head of your pages</summary>
              <CopyBlock text={data.page_snippet} label="Copy the snippet" />
            </details>
            <Title order={3} size="h5">
              Check my forwarder
            </Title>
            <ForwarderCheck params={params} path={typedPath} />
          </>
        )}
      </Stack>
    </Section>
  )
}
