import { Button, Stack, Text, Title } from '@mantine/core'
import type { CreatedTracker } from '@signalbox/contract/session/trackers.ts'
import { CopyBlock } from '../components/copy.tsx'

interface NewKeysProps {
  created: CreatedTracker
  onDone: () => void
}

/** The only moment at which the keys of a new tracker are shown. */
export function NewKeys({ created: { name, keys }, onDone }: NewKeysProps) {
  return (
    <Stack className="surface" p="lg" gap="md" component="section" aria-label="New keys">
      <div>
        <Title order={2} size="h4">
          Keys of {name}
        </Title>
        <Text c="dimmed" maw="42rem">
          Copy them now: they are not shown again. You can issue others at any time.
        </Text>
      </div>
      <Key
        name="Secret, for your servers"
        copyLabel="Copy the secret"
        line={`export SIGNALBOX_TOKEN=${keys.secret}`}
      />
      {keys.publishable !== null && (
        <Key
          name="Publishable key, for the pages of your websites"
          copyLabel="Copy the publishable key"
          line={`export SIGNALBOX_PUBLISHABLE_KEY=${keys.publishable}`}
        />
      )}
      {keys.forwarding !== null && (
        <Key
          name="Forwarding secret, for a forwarder in front of your pages"
          copyLabel="Copy the forwarding secret"
          line={`export SIGNALBOX_FORWARDING_SECRET=${keys.forwarding}`}
        />
      )}
      <div>
        <Button variant="default" onClick={onDone}>
          I have stored the keys
        </Button>
      </div>
    </Stack>
  )
}

function Key({ name, copyLabel, line }: { name: string; copyLabel: string; line: string }) {
  return (
    <div>
      <Text fw={600} mb={4}>
        {name}
      </Text>
      <CopyBlock text={line} label={copyLabel} />
    </div>
  )
}
