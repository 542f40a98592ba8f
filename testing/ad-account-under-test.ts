import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Ajv } from 'ajv'
import { seedSimulatedAccount } from '../service/agents/executor/simulated-account-store.ts'
import { bindDestination } from '../service/delivery/destination-store.ts'
import type { AgentPrincipal } from '../service/oauth/authenticate-agent.ts'
import { TIER_PERMISSIONS } from '../service/oauth/permissions.ts'
import { findAdAccount } from '../service/people/ad-account-store.ts'
import type { ProvisionedTracker } from '../service/provisioning/provision-tracker.ts'
import { addAdAccount, addMember, personUnderTest } from './people-under-test.ts'
import {
  type Reply,
  type ServiceUnderTest,
  serviceUnderTest,
  type UnderTestOptions,
} from './service-under-test.ts'

/** A workspace with a tracker that delivers for an ad account with simulated campaigns. */
export interface AdAccountUnderTest {
  service: ServiceUnderTest
  tracker: ProvisionedTracker
  workspaceId: number
  adAccountId: number
  /** As an execution token of tier Write speaks for the ad account. */
  principal: AgentPrincipal
  /** POST /api/v1/events as the tracker. */
  submit(body: unknown): Promise<Reply>
}

export async function adAccountUnderTest(
  test: TestContext,
  options: UnderTestOptions = {},
): Promise<AdAccountUnderTest> {
  const service = await serviceUnderTest(test, options)
  return adAccountOf(service, service.tracker)
}

/** The same around a tracker of its own, in the same store. */
export async function adAccountOf(
  service: ServiceUnderTest,
  tracker: ProvisionedTracker,
): Promise<AdAccountUnderTest> {
  const { database, clock } = service
  const { workspaceId, trackerId, destinationId, trackerSecret: secret } = tracker
  const { userId: personId } = await personUnderTest(service)
  await addMember(service, { workspaceId, userId: personId, role: 'owner' })
  const adAccountId = await addAdAccount(service, workspaceId)
  await bindDestination(database, { trackerId, destinationId, adAccountId })
  const account = await findAdAccount(database, { workspaceId, adAccountId })
  if (!account) throw new Error('the ad account is gone')
  const { platformAccountId, platform, name, currency, timeZone } = account
  const seed = { adAccountId, platformAccountId, name, at: clock.now() }
  await database.query.transaction().execute(query => seedSimulatedAccount({ query }, seed))
  const principal: AgentPrincipal = {
    ...{ kind: 'execution_token', tokenId: 1, tokenName: 'Test token', tier: 'write' },
    ...{ permissions: TIER_PERMISSIONS.write, expiresAt: new Date('2027-01-01T00:00:00Z') },
    ...{ workspaceId, workspaceName: 'Test', adAccountId, adAccountName: name, personId },
    ...{ platform, currency, timeZone },
  }
  const submit = (body: unknown) => service.request('POST', '/api/v1/events', { secret, body })
  return { service, tracker, workspaceId, adAccountId, principal, submit }
}

const ajv = new Ajv({ strict: false, formats: { 'date-time': true, date: true } })

/** Fails when an answer is not of the shape that the contract promises. */
export function assertShape(schema: object, answer: unknown): void {
  const validate = ajv.compile(schema)
  validate(answer)
  assert.deepEqual(validate.errors ?? [], [])
}
