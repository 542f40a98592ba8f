import { revokeKey } from '../../service/access/store.ts'
import { generateToken, hashToken } from '../../service/access/token-format.ts'
import { issueKey } from '../../service/access/tracker-keys.ts'
import type { ProvisionedTracker } from '../../service/provisioning/provision-tracker.ts'
import { trailOf } from '../audit-entries.ts'
import type { ServiceUnderTest } from '../service-under-test.ts'
import { platformTargetOf } from '../simulator-controls.ts'
import { type FuzzAgent, newFuzzAgent } from './fuzz-agent.ts'
import type { Credential } from './hostile-heads.ts'

/** Who takes part in one caller's requests; no other caller uses them, so a run can be repeated. */
export interface FuzzCast {
  own: ProvisionedTracker
  /** Of another workspace: what it has must never be shown to the first. */
  second: ProvisionedTracker
  revokedSecret: string
  sandboxKey: string
  /** In a workspace of its own. */
  agent: FuzzAgent
  /** What may stand in no answer and no log line. */
  secrets: readonly string[]
}

export async function newFuzzCast(service: ServiceUnderTest): Promise<FuzzCast> {
  const { database, clock } = service
  const own = await service.newTracker()
  const second = await service.newTracker()
  const { trackerId, workspaceId } = own
  const scope = { database, audit: trailOf(service) }
  const revokedSecret = await issueKey(scope, {
    trackerId,
    workspaceId,
    kind: 'tracker_secret',
    issuedAt: clock.now(),
  })
  const digest = hashToken(revokedSecret)
  await revokeKey(database, { trackerId, digest, revokedAt: clock.now() })
  const { body } = await service.request('POST', '/api/v1/sandbox/keys')
  const agent = await newFuzzAgent(service)
  const platform = [await platformTargetOf(service, own), await platformTargetOf(service, second)]
  return {
    own,
    second,
    revokedSecret,
    sandboxKey: body.api_key,
    agent,
    secrets: [
      revokedSecret,
      agent.managementToken,
      agent.executionToken,
      ...[own, second].flatMap(({ trackerSecret, forwardingSecret }) => [
        trackerSecret,
        forwardingSecret,
      ]),
      ...platform.map(({ accessToken }) => accessToken),
    ],
  }
}

export interface PresentedCredential {
  authorization: string | string[] | null
  queryKey: string | null
}

/** The credential as it is sent. */
export function presented(cast: FuzzCast, credential: Credential): PresentedCredential {
  const inQuery = IN_QUERY[credential]?.(cast) ?? null
  return { authorization: IN_HEADER[credential]?.(cast) ?? null, queryKey: inQuery }
}

type OfCast<Value> = Partial<Record<Credential, (cast: FuzzCast) => Value>>

const IN_QUERY: OfCast<string> = {
  publishable_query: ({ own }) => own.publishableKey,
  in_query: ({ own }) => own.trackerSecret,
}

const IN_HEADER: OfCast<string | string[]> = {
  own: ({ own }) => `Bearer ${own.trackerSecret}`,
  own_lower_scheme: ({ own }) => `bearer  ${own.trackerSecret} `,
  own_cut: ({ own }) => `Bearer ${own.trackerSecret.slice(0, -1)}`,
  own_twice: ({ own }) => [`Bearer ${own.trackerSecret}`, `Bearer ${own.trackerSecret}`],
  publishable: ({ own }) => `Bearer ${own.publishableKey}`,
  second: ({ second }) => `Bearer ${second.trackerSecret}`,
  second_publishable: ({ second }) => `Bearer ${second.publishableKey}`,
  forwarding: ({ own }) => `Bearer ${own.forwardingSecret}`,
  revoked: ({ revokedSecret }) => `Bearer ${revokedSecret}`,
  sandbox: ({ sandboxKey }) => `Bearer ${sandboxKey}`,
  agent: ({ agent }) => `Bearer ${agent.managementToken}`,
  execution: ({ agent }) => `Bearer ${agent.executionToken}`,
  sandbox_changed: ({ sandboxKey }) => `Bearer ${sandboxKey.slice(0, -2)}AA`,
  unknown: () => `Bearer ${generateToken('tracker_secret')}`,
  garbage: () => 'Bearer x.y_z~!',
  basic: ({ own }) => `Basic ${Buffer.from(`${own.trackerSecret}:`).toString('base64')}`,
  non_ascii: () => 'Bearer \xff\xfe\x80',
}

/** Whose data a credential of this kind may see; null: nobody's. */
export function speaksFor(cast: FuzzCast, credential: Credential): ProvisionedTracker | null {
  if (credential.startsWith('second')) return cast.second
  const ofOwn = ['own', 'own_lower_scheme', 'publishable', 'publishable_query']
  return ofOwn.includes(credential) ? cast.own : null
}

/** The trackers whose ids may not stand in an answer to this credential. */
export function strangersTo(cast: FuzzCast, credential: Credential): ProvisionedTracker[] {
  const known = speaksFor(cast, credential)
  return [cast.own, cast.second].filter(tracker => tracker !== known)
}
