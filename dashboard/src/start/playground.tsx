import { Alert, Button, Group, NativeSelect, Stack, Text, Textarea, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { validateSnippets } from '../components/code-snippets.ts'
import { CodeTabs } from '../components/code-tabs.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { formatBody } from '../components/first-event-command.ts'
import { type SandboxAnswer, validateInSandbox } from './sandbox-client.ts'
import { EXAMPLES } from './snippets.ts'

const FIRST = formatExample(0)

/** Sends a body to the sandbox, which decides as production does and stores nothing. */
export function Playground() {
  const [body, setBody] = useState(FIRST)
  const validate = useMutation({ mutationFn: () => validateInSandbox(body) })
  return (
    <Stack className="surface" p="lg" gap="md" component="section" aria-label="Playground">
      <div>
        <Title order={2} size="h4">
          Playground
        </Title>
        <Text c="dimmed" maw="42rem">
          The sandbox checks an event and its consent as production does. It stores nothing and
          sends nothing to a platform.
        </Text>
      </div>
      <form
        onSubmit={event => {
          event.preventDefault()
          validate.mutate()
        }}
      >
        <Stack gap="md">
          <NativeSelect
            label="Example"
            maw="26rem"
            data={EXAMPLES.map(({ label }, index) => ({ value: String(index), label }))}
            onChange={({ currentTarget }) => {
              setBody(formatExample(Number(currentTarget.value)))
              validate.reset()
            }}
          />
          <Textarea
            label="Event"
            autosize
            minRows={6}
            maxRows={24}
            spellCheck={false}
            classNames={{ input: 'code' }}
            value={body}
            onChange={({ currentTarget }) => setBody(currentTarget.value)}
          />
          <Group gap="sm">
            <Button type="submit" loading={validate.isPending}>
              Validate
            </Button>
          </Group>
        </Stack>
      </form>
      {validate.error && <ErrorNotice error={validate.error} />}
      {validate.data && <Answer answer={validate.data} />}
      <details>
        <summary>The same in your code</summary>
        <CodeTabs snippets={validateSnippets({ origin: location.origin, body })} />
      </details>
    </Stack>
  )
}

function formatExample(index: number): string {
  return formatBody(EXAMPLES[index]?.body ?? {})
}

function Answer({ answer }: { answer: SandboxAnswer }) {
  return (
    <Alert role="status" color="brand" variant="light" title="The event is valid.">
      <Text>{answer.message}</Text>
      <Text size="sm" mt="xs">
        Event ID <span className="code">{answer.event_id}</span>
      </Text>
    </Alert>
  )
}
