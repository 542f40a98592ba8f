import { Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { PageLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { ForwarderSection } from '../keys/forwarder-section.tsx'
import { KEY_KINDS, keysQuery } from '../keys/key-api.ts'
import { KeyDialog } from '../keys/key-dialogs.tsx'
import { type KeyIntent, KeySection } from '../keys/key-section.tsx'
import { PageIdSharingSection } from '../keys/page-id-sharing.tsx'
import { RevokedKeys } from '../keys/revoked-keys.tsx'
import { useCan, useCanManage, useTrackerParams, useWorkspace } from '../layout/scope.ts'

/** The keys of a tracker: issue, rotate with overlap, revoke; and the forwarder that uses them. */
export function KeysPage() {
  const params = useTrackerParams()
  const canManage = useCanManage()
  const [intent, setIntent] = useState<KeyIntent | null>(null)
  const keys = useInfiniteQuery(keysQuery(params))
  const [first] = keys.data?.pages ?? []
  return (
    <Page title="Keys" description={<OtherCredentials />}>
      {keys.error && <ErrorNotice error={keys.error} onRetry={() => void keys.refetch()} />}
      {!first && !keys.error && <PageSkeleton />}
      {first &&
        KEY_KINDS.map(({ kind, title, purpose }) => (
          <KeySection
            key={kind}
            kind={kind}
            title={title}
            purpose={purpose}
            canManage={canManage}
            keys={first.live.filter(key => key.kind === kind)}
            liveMax={first.live_max}
            onIntent={setIntent}
          />
        ))}
      {first && (
        <RevokedKeys keys={keys.data?.pages.flatMap(({ revoked }) => revoked) ?? []} list={keys} />
      )}
      {first && <PageIdSharingSection params={params} canManage={canManage} />}
      {first && <ForwarderSection params={params} />}
      {intent && <KeyDialog params={params} intent={intent} onClose={() => setIntent(null)} />}
    </Page>
  )
}

function OtherCredentials() {
  const { id } = useWorkspace()
  const canManageAgents = useCan('manage_agents')
  return (
    <Text component="span">
      What opens this tracker. Each key is shown once, when it is issued.
      {canManageAgents && (
        <>
          {' '}
          Tokens of agents are on the page{' '}
          <PageLink to="/w/$workspace/tokens" params={{ workspace: id }} underline="always">
            Tokens
          </PageLink>
          .
        </>
      )}
    </Text>
  )
}
